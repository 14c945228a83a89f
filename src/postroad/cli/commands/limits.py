"""``postroad limits``: what organizations may take up of the network, and what they do take up."""

from __future__ import annotations

from typing import Any

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.output import Output


@click.group()
def limits() -> None:
    """Look after what organizations may take up."""


@command
@click.argument("organization", required=False)
@connected
def show(out: Output, organization: str | None, connection: Connection) -> None:
    """Show what organizations take up of what they may: yours, or for operators all.

    What counts are an organization's own posts, not what others sent to it.
    """
    with connection.client() as client:
        names = [organization] if organization else [one["name"] for one in client.every("/v1/organizations")]
        found = [client.get(_path(name) + "/usage") for name in names]
    for usage in found:
        out.value(usage)
    if not found:
        out.say("No organizations.")
        return
    columns = ("ORGANIZATION", "POSTS PER SECOND", "MESSAGE BYTES", "STORED BYTES", "QUEUED MESSAGES")
    out.table(columns, [_row(usage) for usage in found])


@command
@click.argument("organization")
@click.option("--posts-per-second", type=click.IntRange(0), help="Posts a second.")
@click.option("--message-bytes", type=click.IntRange(0), help="Bytes of the largest message.")
@click.option("--stored-bytes", type=click.IntRange(0), help="Bytes of messages that still wait to be delivered.")
@click.option("--queued-messages", type=click.IntRange(0), help="Deliveries that wait.")
@connected
def set_(out: Output, organization: str, connection: Connection, **wish: int | None) -> None:
    """Set what an organization may take up; what is not named stays as it is.

    0 is the network's usual limit. For operators.
    """
    given = {name: value for name, value in wish.items() if value is not None}
    if not given:
        raise click.UsageError("Name a limit to set, such as --stored-bytes 1000000.")
    with connection.client() as client:
        now = client.get(_path(organization))
        saved = client.change("PUT", _path(organization), _changed(now, given), version=f'"{now["version"]}"')
    out.value(saved)
    out.say(f"{saved['name']}: limits saved")


def _changed(now: dict[str, Any], given: dict[str, int]) -> dict[str, Any]:
    """The organization as it is, but for what is given."""
    fields = {"message_bytes": "messageBytes", "stored_bytes": "storedBytes", "queued_messages": "queuedMessages"}
    return {
        "description": now["description"],
        "postsPerSecond": given.get("posts_per_second", now["postsPerSecond"]),
        "limits": now["limits"] | {field: given[name] for name, field in fields.items() if name in given},
    }


def _path(organization: str) -> str:
    from urllib.parse import quote

    return f"/v1/organizations/{quote(organization, safe='')}"


def _row(usage: dict[str, Any]) -> tuple[str, ...]:
    stored, queued = usage["storedBytes"], usage["queuedMessages"]
    rates = (str(usage["postsPerSecond"] or "no limit"), str(usage["messageBytes"]))
    return (usage["organization"], *rates, _of(stored), _of(queued))


def _of(used: dict[str, int]) -> str:
    return f"{used['used']} of {used['limit']}" if used["limit"] else f"{used['used']}, no limit"


for below in (show, set_):
    limits.add_command(below)
