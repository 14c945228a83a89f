"""The commands ``postroad limits``, ``suspend``, ``resume`` and ``approve``: what organizations may use and do."""

from __future__ import annotations

from typing import Any

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output


@click.group()
def limits() -> None:
    """Manage the limits of organizations."""


@command
@click.argument("organization", required=False)
@with_connection
def show(out: Output, organization: str | None, connection: NetworkConnection) -> None:
    """Show organizations' usage of their limits: yours, or all for operators.

    An organization's own posts count, not messages sent to it.
    """
    with connection.client() as client:
        names = [organization] if organization else [one["name"] for one in client.every("/v1/organizations")]
        found = [client.get(_path(name) + "/usage") for name in names]
    for usage in found:
        out.value(usage)
    if not found:
        out.print("No organizations.")
        return
    columns = ("ORGANIZATION", "POSTS PER SECOND", "MESSAGE BYTES", "STORED BYTES", "QUEUED MESSAGES")
    out.table(columns, [_row(usage) for usage in found])


@command
@click.argument("organization")
@click.option("--posts-per-second", type=click.IntRange(0), help="Posts per second.")
@click.option("--message-bytes", type=click.IntRange(0), help="Maximum size of a message in bytes.")
@click.option("--stored-bytes", type=click.IntRange(0), help="Maximum bytes of messages that wait for delivery.")
@click.option("--queued-messages", type=click.IntRange(0), help="Maximum number of deliveries that wait.")
@with_connection
def set_(out: Output, organization: str, connection: NetworkConnection, **wish: int | None) -> None:
    """Set the limits of an organization; limits that are not named stay unchanged.

    0 is the network's default. For operators.
    """
    given = {name: value for name, value in wish.items() if value is not None}
    if not given:
        raise click.UsageError("Name a limit to set, such as --stored-bytes 1000000.")
    with connection.client() as client:
        now = client.get(_path(organization))
        saved = client.change(
            "PUT", _path(organization), _changed_organization(now, given), version=f'"{now["version"]}"'
        )
    out.value(saved)
    out.print(f"{saved['name']}: limits saved")


def _changed_organization(now: dict[str, Any], given: dict[str, int]) -> dict[str, Any]:
    """Return the organization with the given limits replaced."""
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
    return (usage["organization"], *rates, _format_usage(stored), _format_usage(queued))


def _format_usage(used: dict[str, int]) -> str:
    return f"{used['used']} of {used['limit']}" if used["limit"] else f"{used['used']}, no limit"


for below in (show, set_):
    limits.add_command(below)

GCID_DIGITS = 16


@command
@click.argument("name")
@click.option("--reason", required=True, help="Reason; members of the organization can read it.")
@with_connection
def suspend(out: Output, name: str, reason: str, connection: NetworkConnection) -> None:
    """Suspend an organization, or a service (by address or GCID).

    It can then neither post nor poll, and nothing is routed through it. Stored messages wait for it until they
    expire. For operators.
    """
    with connection.client() as client:
        client.change("PUT", suspension_path(name), {"reason": reason})
    out.value({"name": name, "suspended": reason})
    out.print(f"{name}: suspended")


@command
@click.argument("name")
@with_connection
def resume(out: Output, name: str, connection: NetworkConnection) -> None:
    """End the suspension of an organization or service.

    For operators.
    """
    with connection.client() as client:
        client.change("DELETE", suspension_path(name))
    out.value({"name": name, "suspended": ""})
    out.print(f"{name}: is active again")


@command
@click.argument("organization")
@with_connection
def approve(out: Output, organization: str, connection: NetworkConnection) -> None:
    """Approve an organization that has registered and awaits approval.

    For operators, in networks whose setting `registration` is "approval".
    """
    with connection.client() as client:
        client.change("DELETE", suspension_path(organization))
    out.value({"name": organization, "suspended": ""})
    out.print(f"{organization}: approved")


def suspension_path(name: str) -> str:
    """Return the API path of the suspension of an organization or a service."""
    from urllib.parse import quote

    is_gcid = len(name) == GCID_DIGITS and set(name) <= set("0123456789abcdef")
    kind = "services" if "/" in name or is_gcid else "organizations"
    return f"/v1/{kind}/{quote(name)}/suspension"
