"""The commands ``postroad keys``, ``login-link`` and ``confirmations``: make API keys, log in, and confirm credentials."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.key_files import make_api_key, write_private
from postroad.cli.framework.output import Output


@click.group()
def keys() -> None:
    """Make API keys."""


@command
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="Write to a private file instead.", metavar="FILE"
)
def make(out: Output, output: Path | None) -> None:
    """Make a new API key.

    To register it, run `postroad apply` with a configuration whose credential refers to it: keyFrom: file:FILE.
    """
    key = make_api_key()
    if output is not None:
        write_private(output, key.text)
        out.value({"id": key.id, "file": str(output)})
        out.print(f"key {key.id} is in {output}")
    else:
        out.value({"id": key.id, "key": key.text})
        out.print(key.text)


keys.add_command(make)


@command
@with_connection
def login_link(out: Output, connection: NetworkConnection) -> None:
    """Print a link that opens the console and logs you in, once.

    It is valid for 15 minutes, for the first person who opens it. On a new network its operator logs in with it.
    """
    with connection.client() as client:
        made = client.change("POST", "/v1/account/login-link")
    out.value(made)
    out.print(click.style(made["url"], bold=True))


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
        out.print("Nothing waits for an owner's confirmation.")
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
    out.print(f"{pending_id}: confirmed")


def _path(organization: str) -> str:
    return f"/v1/organizations/{quote(organization, safe='')}/confirmations"


for below in (list_, accept):
    confirmations.add_command(below)
