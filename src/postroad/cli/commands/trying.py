"""``postroad try``: what a rule, a condition or a stylesheet would do, before it is switched on."""

from __future__ import annotations

import sys
from typing import Any

import click

from postroad.cli.assignments import assignments
from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.exits import Exit
from postroad.cli.output import Output


@command
@click.argument("what", metavar="RULE|STYLESHEET")
@click.argument("on", metavar="MESSAGE|DOCUMENT|SESSION")
@click.option("--service", default="", help="Whose rule it would be; a service's own key says it.")
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of a stylesheet.")
@connected
def try_(out: Output, what: str, on: str, service: str, parameters: tuple[str, ...], connection: Connection) -> None:
    """Try a rule, a condition or a stylesheet before it is switched on.

    The first file holds a rule or condition (YAML, JSON, XML) or a stylesheet (XSLT); the second a message as it could be
    posted (JSON or SOAP) or a document. Instead of it, SESSION names a message that was posted. Nothing is stored or sent.
    Exit code 1 when a rule's condition does not hold.
    """
    from postroad.cli.trial_files import subject_of, tool_of
    from postroad.cli.trial_view import trial_lines

    wish: dict[str, Any] = tool_of(what) | subject_of(on)
    if service and "stylesheet" not in wish:
        wish["service"] = service
    if parameters:
        wish["parameters"] = assignments(parameters)
    with connection.client() as client:
        found = client.try_out(**wish)
    out.value(found)
    for line in trial_lines(found):
        out.say(line)
    if found.get("held") is False:
        sys.exit(Exit.ERROR)
