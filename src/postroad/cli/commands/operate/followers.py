"""The command ``postroad followers``: list the followers of the journal, and reset the position of one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import click

from postroad.bootstrap.followers import open_cursors
from postroad.bootstrap.settings import Settings
from postroad.cli.framework.command import command
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import with_settings
from postroad.cli.framework.stores import open_journal, read_journal_head
from postroad.errors import Misconfigured
from postroad.ports import FollowerCursors, JournalHead


@click.group()
def followers() -> None:
    """List the followers of the journal, and how far each is behind."""


@command
@with_settings
def list_(out: Output, settings: Settings) -> None:
    """List each follower's position, and how many entries it is behind.

    A follower reads every entry once, for example to export traces or to send notifications. Works beside a running
    server and changes nothing.
    """
    head, cursors = asyncio.run(_positions(settings))
    if not cursors:
        out.print("no follower has run yet")
    for name, cursor in cursors.items():
        out.value({"name": name, "entry": cursor.seq, "behind": head.seq - cursor.seq})
        out.print(f"{name}: at entry {cursor.seq} of {head.seq} ({_describe_lag(head, cursor)})")


@command
@click.argument("name")
@with_settings
def reset(out: Output, name: str, settings: Settings) -> None:
    """Continue a follower at the end of the journal.

    The entries between its position and the end are skipped. Needed after a restore, when a follower stops because
    its position is in another journal. Works beside a running server, which continues within seconds.
    """
    head = asyncio.run(_reset(settings, name))
    out.value({"name": name, "entry": head.seq, "behind": 0})
    out.print(f"{name}: continues after entry {head.seq}")


def _describe_lag(head: JournalHead, cursor: JournalHead) -> str:
    if cursor.seq > head.seq:
        return "the journal ends before it: it was restored or replaced"
    return f"{head.seq - cursor.seq} behind"


async def _positions(settings: Settings) -> tuple[JournalHead, dict[str, JournalHead]]:
    async with open_journal(settings) as journal, _open(settings) as cursors:
        return await read_journal_head(journal), await cursors.load_all()


async def _reset(settings: Settings, name: str) -> JournalHead:
    async with open_journal(settings) as journal, _open(settings) as cursors:
        if not await _exists(cursors, name):
            raise Misconfigured([f"follower {name!r} does not exist; `postroad followers list` shows all"])
        head = await read_journal_head(journal)
        await cursors.save(name, head)
        return head


async def _exists(cursors: FollowerCursors, name: str) -> bool:
    try:
        return await cursors.load(name) is not None
    except Misconfigured:  # its position cannot be read, which a reset repairs
        return True


@contextlib.asynccontextmanager
async def _open(settings: Settings) -> AsyncIterator[FollowerCursors]:
    cursors = await open_cursors(settings)
    try:
        yield cursors
    finally:
        await cursors.close()


followers.add_command(list_)
followers.add_command(reset)
