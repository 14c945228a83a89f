"""``postroad services``: which services there are, and how one is set up."""

from __future__ import annotations

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.output import Output


@click.group()
def services() -> None:
    """Look at services."""


@command
@click.option("--all", "everyone", is_flag=True, help="Also public services of others: the directory.")
@connected
def list_(out: Output, everyone: bool, connection: Connection) -> None:
    """List the services of your organization."""
    with connection.client() as client:
        found = client.every("/v1/directory" if everyone else "/v1/services")
    for service in found:
        out.value(service)
    if not found:
        out.say("No services.")
        return
    rows = [[one["address"], one["gcid"], one["visibility"], one["category"], one["description"]] for one in found]
    out.table(["ADDRESS", "GCID", "VISIBILITY", "CATEGORY", "DESCRIPTION"], rows)


@command
@click.argument("service")
@connected
def show(out: Output, service: str, connection: Connection) -> None:
    """Print one service as YAML: whole if it is yours, as in the directory otherwise."""
    from urllib.parse import quote

    from postroad.core.configuration.yaml_text import as_yaml

    with connection.client() as client:
        found = client.get(f"/v1/services/{quote(service)}")
    out.value(found)
    out.say(as_yaml(found).rstrip())


for below in (list_, show):
    services.add_command(below)
