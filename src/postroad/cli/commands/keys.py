"""``postroad keys``: keys are made where they will be used, so that they never travel more than they must."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click

from postroad.cli.command import command
from postroad.cli.output import Output
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

    The network knows it after `postroad apply` with a configuration whose credential refers to it: keyFrom: file:FILE.
    """
    key = api_key.make(secrets.token_bytes(api_key.RANDOM_BYTES))
    if output is not None:
        write_private(output, key.text)
        out.value({"id": key.id, "file": str(output)})
        out.say(f"key {key.id} is in {output}")
    else:
        out.value({"id": key.id, "key": key.text})
        out.say(key.text)


def new_key() -> str:
    return api_key.make(secrets.token_bytes(api_key.RANDOM_BYTES)).text


def made_key(path: Path) -> str:
    """A new key, which is also in a private file now."""
    key = new_key()
    write_private(path, key)
    return key


def write_private(path: Path, text: str) -> None:
    """A new file that only its owner can read; an existing one is left alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")


keys.add_command(make)
