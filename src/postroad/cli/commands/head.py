"""``postroad head``: print the journal's head, so that it can be kept where the journal's writers cannot change it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.command import command
from postroad.cli.configuring import configured
from postroad.cli.noted_heads import read_private_key, write_new_key
from postroad.cli.output import Output
from postroad.cli.stores import journal_head, reading_journal
from postroad.core.identity.signed_head import head_text, sign_head
from postroad.ports import Head


@command
@click.option(
    "--sign",
    "key_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="KEYFILE",
    help="Print a line with the time and a signature by this Ed25519 key (PEM).",
)
@click.option(
    "--new-key",
    type=click.Path(path_type=Path),
    metavar="KEYFILE",
    help="Make a key pair for --sign and nothing else: KEYFILE and KEYFILE.pub.",
)
@configured
def head(out: Output, key_file: Path | None, new_key: Path | None, settings: Settings) -> None:
    """Print the journal's head, to keep it elsewhere.

    The head is the number of the last entry and the hash over all entries up to it. `postroad verify --head` compares a journal
    with heads noted earlier. Works beside a running server and changes nothing.
    """
    if new_key is not None:
        public_key = write_new_key(new_key)
        out.value({"key": str(new_key), "public_key": str(public_key)})
        out.say(f"private key {new_key}, public key {public_key}")
        return
    found = asyncio.run(_head(settings))
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    line = sign_head(*found, now, read_private_key(key_file)) if key_file else head_text(*found)
    out.value({"entries": found.seq, "head": head_text(*found), "line": line})
    out.say(line)


async def _head(settings: Settings) -> Head:
    async with reading_journal(settings) as journal:
        return await journal_head(journal)
