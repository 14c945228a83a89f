"""The command ``postroad level``: show the network's level and its nodes, and raise the level after an upgrade."""

from __future__ import annotations

from typing import Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output, strip_controls

PATH = "/v1/level"


@click.group()
def level() -> None:
    """Show and raise the network's level, after an upgrade.

    The level is the newest data format that the nodes may write. An upgraded network keeps its level, so the previous version
    can still be started on its data, until an operator raises the level.
    """


@command
@with_connection
def show(out: Output, connection: NetworkConnection) -> None:
    """Show the level, and the nodes that were seen in the last ten minutes."""
    with connection.client() as client:
        _show(out, client.get(PATH))


@command
@click.option("--to", type=click.IntRange(1), help="The level; default: the newest that the node reads.")
@with_connection
def raise_(out: Output, to: int | None, connection: NetworkConnection) -> None:
    """Raise the level, when all nodes run the new version.

    This cannot be undone: afterwards, earlier versions refuse to start on the data. It is refused while a node that was seen in
    the last ten minutes cannot read the level.
    """
    with connection.client() as client:
        _show(out, client.change("POST", PATH, {"level": to}))


def _show(out: Output, found: Any) -> None:
    out.value(found)
    out.print(f"network level {found['level']}; this version reads up to level {found['newest']}")
    rows = [
        [node["id"] or "-", strip_controls(node["host"]), node["version"], str(node["level"]), node["seenAt"] or "-"]
        for node in found["nodes"]
    ]
    out.table(["NODE", "HOST", "VERSION", "READS LEVEL", "LAST SEEN"], rows)
    if found["level"] == found["newest"]:
        return
    for obstacle in found["obstacles"]:
        out.print(obstacle)
    if not found["obstacles"]:
        out.print("`postroad level raise` enables the new features; the previous version cannot be started afterwards")


for name, one in {"show": show, "raise": raise_}.items():
    level.add_command(one, name)
