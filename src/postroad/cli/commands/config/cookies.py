"""The command ``postroad cookies``: text that a service receives with every message from a given sender."""

from __future__ import annotations

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output, strip_controls
from postroad.errors import Refused

MAX_SHOWN = 80


@click.group()
def cookies() -> None:
    """Manage cookies: data that services receive with messages of a sender."""


@command
@click.argument("service")
@with_connection
def list_(out: Output, service: str, connection: NetworkConnection) -> None:
    """List the cookies of a service; only its own organization can."""
    with connection.client() as client:
        found = client.cookies(service)
    for cookie in found:
        out.value(cookie)
    if not found:
        out.print("No cookies.")
        return
    rows = [[one.sender, one.content_type, strip_controls(one.content)[:MAX_SHOWN]] for one in found]
    out.table(["SENDER", "TYPE", "CONTENT"], rows)


@command
@click.argument("service")
@click.argument("sender")
@click.argument("file")
@click.option("--type", "content_type", default="text/plain", help="Content type.", show_default=True)
@with_connection
def set_(out: Output, service: str, sender: str, file: str, content_type: str, connection: NetworkConnection) -> None:
    """Register a cookie: SERVICE receives it with every message from SENDER.

    It replaces the previous one. A FILE named - is standard input.
    """
    from postroad.cli.input.messages import read_content

    try:
        content = read_content(file).decode()
    except UnicodeDecodeError:
        raise Refused("cookie.invalid", f"{file} is not text in UTF-8") from None
    with connection.client() as client:
        saved = client.set_cookie(service, sender, content, content_type=content_type)
    out.value(saved)
    out.print(f"{service}: {len(saved.content)} characters are sent with messages from {saved.sender}")


@command
@click.argument("service")
@click.argument("sender")
@with_connection
def remove(out: Output, service: str, sender: str, connection: NetworkConnection) -> None:
    """Remove a cookie; messages from SENDER come without it from now on."""
    with connection.client() as client:
        client.remove_cookie(service, sender)
    out.value({"removed": sender})
    out.print(f"{service}: no cookie for {sender} any more")


for below in (list_, set_, remove):
    cookies.add_command(below)
