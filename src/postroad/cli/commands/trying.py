"""``postroad try``: what a rule, a condition, a stylesheet or a schema would do, before it is switched on."""

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
@click.argument("what", metavar="RULE|STYLESHEET|SCHEMA")
@click.argument("on", metavar="MESSAGE|DOCUMENT|SESSION")
@click.option("--service", default="", help="Whose rule or schema it would be; of a rule, a service's own key says it.")
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of a stylesheet.")
@connected
def try_(out: Output, what: str, on: str, service: str, parameters: tuple[str, ...], connection: Connection) -> None:
    """Try a rule, a condition, a stylesheet or a schema before it is switched on.

    The first file holds a rule or condition (YAML, JSON, XML), a stylesheet (XSLT) or a schema (XSD, DTD, JSON Schema); the
    second a message as it could be posted (JSON or SOAP) or a document. Instead of it, SESSION names a message that was
    posted. What a schema refers to is found among the schemas of --service. Nothing is stored or sent.
    Exit code 1 when a rule's condition does not hold, or a document is not valid.
    """
    from postroad.cli.trial_files import subject_of, tool_of
    from postroad.cli.trial_view import trial_lines

    wish: dict[str, Any] = tool_of(what) | subject_of(on)
    if service and "schema" in wish:
        wish["schema"]["service"] = service
    elif service and "stylesheet" not in wish:
        wish["service"] = service
    if parameters:
        wish["parameters"] = assignments(parameters)
    with connection.client() as client:
        found = client.try_out(**wish)
    out.value(found)
    for line in trial_lines(found):
        out.say(line)
    if found.get("held") is False or found.get("valid") is False:
        sys.exit(Exit.ERROR)
