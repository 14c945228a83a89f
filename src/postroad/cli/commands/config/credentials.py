"""The commands ``postroad keys`` and ``postroad login-link``: make API keys, and a one-time link to the console."""

from __future__ import annotations

from pathlib import Path

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
        out.say(f"key {key.id} is in {output}")
    else:
        out.value({"id": key.id, "key": key.text})
        out.say(key.text)


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
    out.say(click.style(made["url"], bold=True))
