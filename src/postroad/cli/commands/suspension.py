"""``postroad suspend``, ``resume`` and ``approve``: operators decide which organizations and services take part."""

from __future__ import annotations

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.output import Output

GCID_DIGITS = 16


@command
@click.argument("name")
@click.option("--reason", required=True, help="Why; the organization's people can read it.")
@connected
def suspend(out: Output, name: str, reason: str, connection: Connection) -> None:
    """Suspend an organization, or a service (by address or GCID).

    From now on it can neither post nor fetch, and nothing is routed through it. What is stored waits for it until it
    expires. For operators.
    """
    with connection.client() as client:
        client.change("PUT", suspension_of(name), {"reason": reason})
    out.value({"name": name, "suspended": reason})
    out.say(f"{name}: suspended")


@command
@click.argument("name")
@connected
def resume(out: Output, name: str, connection: Connection) -> None:
    """Let a suspended organization or service take part again.

    For operators.
    """
    with connection.client() as client:
        client.change("DELETE", suspension_of(name))
    out.value({"name": name, "suspended": ""})
    out.say(f"{name}: takes part again")


@command
@click.argument("organization")
@connected
def approve(out: Output, organization: str, connection: Connection) -> None:
    """Approve an organization that has registered and awaits approval.

    For operators, in networks whose setting `registration` is "approval".
    """
    with connection.client() as client:
        client.change("DELETE", suspension_of(organization))
    out.value({"name": organization, "suspended": ""})
    out.say(f"{organization}: approved")


def suspension_of(name: str) -> str:
    """Where the suspension of an organization or a service is; only the names of services have a slash or are GCIDs."""
    from urllib.parse import quote

    is_gcid = len(name) == GCID_DIGITS and set(name) <= set("0123456789abcdef")
    kind = "services" if "/" in name or is_gcid else "organizations"
    return f"/v1/{kind}/{quote(name)}/suspension"
