"""The command ``postroad rules``: the rules of a service, in their order."""

from __future__ import annotations

from typing import Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output


@click.group()
def rules() -> None:
    """Manage the rules of services."""


@command
@click.argument("service")
@with_connection
def list_(out: Output, service: str, connection: NetworkConnection) -> None:
    """List the rules of a service, in their order."""
    with connection.client() as client:
        found = client.rules(service)
    for rule in found:
        out.value(rule)
    if not found:
        out.print("No rules.")
        return
    rows = [[str(rule["place"]), rule["name"], rule["role"], _switch(rule), rule["description"]] for rule in found]
    out.table(["PLACE", "NAME", "ROLE", "", "DESCRIPTION"], rows)


@command
@click.argument("service")
@click.argument("name")
@with_connection
def show(out: Output, service: str, name: str, connection: NetworkConnection) -> None:
    """Print one rule as YAML, as `postroad rules add` takes it."""
    from postroad.core.configuration.yaml_text import as_yaml

    with connection.client() as client:
        rule = client.rule(service, name)
    out.value(rule)
    written = {field: value for field, value in rule.items() if field not in ("place", "version") and value != ""}
    out.print(as_yaml(written).rstrip())


@command
@click.argument("service")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--place", type=click.IntRange(1), help="Position among the service's rules, starting at 1; default: last."
)
@with_connection
def add(out: Output, service: str, files: tuple[str, ...], place: int | None, connection: NetworkConnection) -> None:
    """Add the rules in the files, or replace those with the same name.

    A FILE contains one or more rules, in YAML, JSON or XML; - is standard input. Each is checked completely, and all
    errors are shown.
    """
    from postroad.cli.input.messages import read_content
    from postroad.cli.input.rules_and_models import read_rules

    wishes = [rule for file in files for rule in read_rules(read_content(file), file)]
    with connection.client() as client:
        for number, wish in enumerate(wishes):
            where = {} if place is None else {"place": place + number}
            saved = client.save_rule(service, wish | where)
            out.value(saved)
            out.print(f"{saved['name']}: saved as version {saved['version']}, place {saved['place']}")


@command
@click.argument("service")
@click.argument("name")
@with_connection
def remove(out: Output, service: str, name: str, connection: NetworkConnection) -> None:
    """Remove a rule; its versions stay stored."""
    with connection.client() as client:
        client.remove_rule(service, name)
    out.value({"removed": name})
    out.print(f"{name}: removed")


@command
@click.argument("service")
@click.argument("name")
@with_connection
def enable(out: Output, service: str, name: str, connection: NetworkConnection) -> None:
    """Enable a rule."""
    _adjusted(out, connection, service, name, enabled=True)


@command
@click.argument("service")
@click.argument("name")
@with_connection
def disable(out: Output, service: str, name: str, connection: NetworkConnection) -> None:
    """Disable a rule; it keeps its position."""
    _adjusted(out, connection, service, name, enabled=False)


@command
@click.argument("service")
@click.argument("name")
@click.argument("place", type=click.IntRange(1))
@with_connection
def move(out: Output, service: str, name: str, place: int, connection: NetworkConnection) -> None:
    """Move a rule to another position, starting at 1."""
    _adjusted(out, connection, service, name, place=place)


def _adjusted(out: Output, connection: NetworkConnection, service: str, name: str, **wish: Any) -> None:
    with connection.client() as client:
        rule = client.adjust_rule(service, name, **wish)
    out.value(rule)
    out.print(f"{rule['name']}: {_switch(rule)}, place {rule['place']}")


def _switch(rule: dict[str, Any]) -> str:
    return "on" if rule["enabled"] else "off"


for below in (list_, show, add, remove, enable, disable, move):
    rules.add_command(below)
