"""``postroad index``: the index is made from the journal, so it can be compared with it and made anew."""

from __future__ import annotations

import asyncio
import sys

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.command import command
from postroad.cli.configuring import configured
from postroad.cli.exits import Exit
from postroad.cli.output import Output
from postroad.cli.stores import index_position, journal_head, reading_journal, writing_index
from postroad.flow.indexing import rebuild as rebuild_index
from postroad.ports import Head


@click.group()
def index() -> None:
    """Look after the index, which is made from the journal."""


@command
@configured
def status(out: Output, settings: Settings) -> None:
    """Say how far the index is behind the journal."""
    journal, index = asyncio.run(_heads(settings))
    behind = journal.seq - index.seq
    out.value({"journal": journal.seq, "index": index.seq, "behind": behind})
    out.say(f"journal at entry {journal.seq}, index at {index.seq} ({behind} behind)")
    if behind < 0:
        out.say("the index knows entries that the journal has not: run `postroad verify`")
        sys.exit(Exit.ERROR)


@command
@configured
def rebuild(out: Output, settings: Settings) -> None:
    """Make every table anew from the journal.

    The server must be stopped. Nothing is lost by it: the journal holds everything.
    """
    head = asyncio.run(_rebuilt(out, settings))
    out.value({"entries": head.seq})
    out.say(f"the index was made anew from {head.seq} entries")


async def _heads(settings: Settings) -> tuple[Head, Head]:
    position = await index_position(settings)
    async with reading_journal(settings) as journal:
        return await journal_head(journal), position or Head(0, b"")


async def _rebuilt(out: Output, settings: Settings) -> Head:
    async with reading_journal(settings) as journal, writing_index(settings) as index:
        end = await journal_head(journal)
        with out.progress("indexing", end.seq) as advance:
            return await rebuild_index(journal, index, lambda head: advance(head.seq))


index.add_command(status)
index.add_command(rebuild)
