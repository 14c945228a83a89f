"""The command ``postroad confirmations``: confirm what operators have made for an organization."""

from __future__ import annotations

from urllib.parse import quote

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output


@click.group()
def confirmations() -> None:
    """Confirm credentials and members that operators have made for your organization."""


@command
@with_connection
def list_(out: Output, connection: NetworkConnection) -> None:
    """List credentials and members that wait for an owner's confirmation."""
    with connection.client() as client:
        found = client.get(_path(client.get("/v1/account")["organization"]))["items"]
    for one in found:
        out.value(one)
    if not found:
        out.say("Nothing waits for an owner's confirmation.")
        return
    out.table(
        ["ID", "KIND", "NAME", "MADE BY"], [[one["id"], one["kind"], one["name"], one["madeBy"]] for one in found]
    )


@command
@click.argument("pending_id", metavar="ID")
@with_connection
def accept(out: Output, pending_id: str, connection: NetworkConnection) -> None:
    """Confirm one: a credential by its id, a member by the e-mail address. For owners.

    To refuse it, remove the credential or the member.
    """
    with connection.client() as client:
        here = _path(client.get("/v1/account")["organization"])
        client.change("POST", f"{here}/{quote(pending_id, safe='')}")
    out.value({"id": pending_id, "confirmed": True})
    out.say(f"{pending_id}: confirmed")


def _path(organization: str) -> str:
    return f"/v1/organizations/{quote(organization, safe='')}/confirmations"


for below in (list_, accept):
    confirmations.add_command(below)
