"""``postroad login-link``: into the console with a key instead of a password, once."""

from __future__ import annotations

import click

from postroad.cli.command import command
from postroad.cli.connection import Connection, connected
from postroad.cli.output import Output


@command
@connected
def login_link(out: Output, connection: Connection) -> None:
    """Print a link that opens the console and logs you in, once.

    It holds for a quarter of an hour, for whoever opens it first. On a new network this is how its operator gets in.
    """
    with connection.client() as client:
        made = client.change("POST", "/v1/account/login-link")
    out.value(made)
    out.say(click.style(made["url"], bold=True))
