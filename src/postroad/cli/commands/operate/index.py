"""The command ``postroad index``: compare the index with the journal, and rebuild it."""

from __future__ import annotations

import asyncio
import sys

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.framework.command import command
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import with_settings
from postroad.cli.framework.stores import open_index_for_rebuild, open_journal, read_index_position, read_journal_head
from postroad.flow.indexing import rebuild as rebuild_index
from postroad.ports import JournalHead


@click.group()
def index() -> None:
    """Manage the index, which is made from the journal."""


@command
@with_settings
def status(out: Output, settings: Settings) -> None:
    """Show how far the index is behind the journal."""
    journal, index = asyncio.run(_heads(settings))
    behind = journal.seq - index.seq
    out.value({"journal": journal.seq, "index": index.seq, "behind": behind})
    out.print(f"journal at entry {journal.seq}, index at {index.seq} ({behind} behind)")
    if behind < 0:
        out.print("the index has entries that the journal lacks: run `postroad verify`")
        sys.exit(ExitCode.ERROR)


@command
@with_settings
def rebuild(out: Output, settings: Settings) -> None:
    """Rebuild every table from the journal.

    The server must be stopped. Nothing is lost: the journal has everything.
    """
    head = asyncio.run(_rebuild_index(out, settings))
    out.value({"entries": head.seq})
    out.print(f"the index was rebuilt from {head.seq} entries")


async def _heads(settings: Settings) -> tuple[JournalHead, JournalHead]:
    position = await read_index_position(settings)
    async with open_journal(settings) as journal:
        return await read_journal_head(journal), position or JournalHead(0, b"")


async def _rebuild_index(out: Output, settings: Settings) -> JournalHead:
    async with open_journal(settings) as journal, open_index_for_rebuild(settings) as index:
        end = await read_journal_head(journal)
        with out.progress("indexing", end.seq) as advance:
            return await rebuild_index(journal, index, lambda head: advance(head.seq))


index.add_command(status)
index.add_command(rebuild)
