"""The commands ``postroad keys`` and ``postroad login-link``: make API keys, and a one-time link to the console."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.output import Output
from postroad.core.identity import api_key


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
    key = api_key.make(secrets.token_bytes(api_key.RANDOM_BYTES))
    if output is not None:
        write_private(output, key.text)
        out.value({"id": key.id, "file": str(output)})
        out.say(f"key {key.id} is in {output}")
    else:
        out.value({"id": key.id, "key": key.text})
        out.say(key.text)


def make_api_key() -> str:
    return api_key.make(secrets.token_bytes(api_key.RANDOM_BYTES)).text


def write_new_key_file(path: Path) -> str:
    """Make a new key and write it to a private file."""
    key = make_api_key()
    write_private(path, key)
    return key


def write_private(path: Path, text: str) -> None:
    """Write a new file that only its owner can read; an existing file is not touched."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")


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
