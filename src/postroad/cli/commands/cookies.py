"""``postroad cookies``: what a service is told again with every message from a given sender."""

from __future__ import annotations

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.output import Output, plain
from postroad.errors import Refused

SHOWN_MOST = 80


@click.group()
def cookies() -> None:
    """Look after what services are told of their senders."""


@command
@click.argument("service")
@connected
def list_(out: Output, service: str, connection: Connection) -> None:
    """List the cookies of a service; only its own organization can."""
    with connection.client() as client:
        found = client.cookies(service)
    for cookie in found:
        out.value(cookie)
    if not found:
        out.say("No cookies.")
        return
    rows = [[one["sender"], one["contentType"], plain(one["content"])[:SHOWN_MOST]] for one in found]
    out.table(["SENDER", "TYPE", "CONTENT"], rows)


@command
@click.argument("service")
@click.argument("sender")
@click.argument("file")
@click.option("--type", "content_type", default="text/plain", help="Content type.", show_default=True)
@connected
def set_(out: Output, service: str, sender: str, file: str, content_type: str, connection: Connection) -> None:
    """Register a cookie: SERVICE is given it with every message from SENDER.

    It replaces the one before. A FILE named - is standard input.
    """
    from postroad.cli.message_files import content_of

    try:
        content = content_of(file).decode()
    except UnicodeDecodeError:
        raise Refused("cookie.invalid", f"{file} is not text in UTF-8") from None
    with connection.client() as client:
        saved = client.set_cookie(service, sender, content, content_type=content_type)
    out.value(saved)
    out.say(f"{service}: {len(saved['content'])} characters come with messages from {saved['sender']}")


@command
@click.argument("service")
@click.argument("sender")
@connected
def remove(out: Output, service: str, sender: str, connection: Connection) -> None:
    """Remove a cookie; messages from SENDER come without it from now on."""
    with connection.client() as client:
        client.remove_cookie(service, sender)
    out.value({"removed": sender})
    out.say(f"{service}: no cookie for {sender} any more")


for below in (list_, set_, remove):
    cookies.add_command(below)
