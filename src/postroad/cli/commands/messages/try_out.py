"""The command ``postroad try``: the effect of a rule, condition, stylesheet or schema before it is enabled."""

from __future__ import annotations

import sys
from typing import Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.input.message_options import parse_assignments


@command
@click.argument("what", metavar="RULE|STYLESHEET|SCHEMA")
@click.argument("on", metavar="MESSAGE|DOCUMENT|SESSION")
@click.option(
    "--service", default="", help="The owner of the rule or schema; for a rule, default: the service of the key."
)
@click.option("--parameter", "parameters", multiple=True, metavar="NAME=VALUE", help="Parameter of a stylesheet.")
@with_connection
def try_(
    out: Output, what: str, on: str, service: str, parameters: tuple[str, ...], connection: NetworkConnection
) -> None:
    """Try a rule, a condition, a stylesheet or a schema before it is enabled.

    The first file contains a rule or condition (YAML, JSON, XML), a stylesheet (XSLT) or a schema (XSD, DTD, JSON
    Schema); the second a message as it could be posted (JSON or SOAP) or a document. Instead of it, SESSION names a
    posted message. References of a schema are resolved among the schemas of --service. Nothing is stored or sent.
    Exit code 1 when a rule's condition does not hold, or a document is not valid.
    """
    from postroad.cli.input.trials import parse_subject, parse_tool
    from postroad.cli.views.trials import trial_lines

    wish: dict[str, Any] = parse_tool(what) | parse_subject(on)
    if service and "schema" in wish:
        wish["schema"]["service"] = service
    elif service and "stylesheet" not in wish:
        wish["service"] = service
    if parameters:
        wish["parameters"] = parse_assignments(parameters)
    with connection.client() as client:
        found = client.try_out(**wish)
    out.value(found)
    for line in trial_lines(found):
        out.print(line)
    if found.get("held") is False or found.get("valid") is False:
        sys.exit(ExitCode.ERROR)
