"""What runs in the index process: a SQLite index kept up with a segment journal, beside the server that writes the journal.

    python -m postroad.adapters.index.process --journal DIR --index FILE

It is told on its standard input that there may be something new, one byte each time: ``.`` for "when it suits", after which
it waits a little so that a batch becomes large, or ``!`` for "somebody is waiting". It says on its standard output how far
it is, one line of JSON per batch and at least one for what it was told. The end of its input means that the server is gone:
it finishes and leaves.

Kept rule: it may be killed at any moment. What it had not committed is read from the journal again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import signal
import sys
from pathlib import Path

import apsw
import msgspec

from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.journal.segments.reader import SegmentReader
from postroad.errors import Misconfigured
from postroad.flow.indexing import catch_up, follow
from postroad.ports import Head

PATIENCE_S = 0.2  # entries that arrive meanwhile share a transaction, and its cost: at 10 000 a second there are 2000
WHEN_IT_SUITS = b"."
AT_ONCE = b"!"
EXIT_MISCONFIGURED = 78
EXIT_TROUBLE = 75  # EX_TEMPFAIL
TROUBLE = (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.ReadOnlyError)


class Announcement(msgspec.Struct, omit_defaults=True):
    """One line to the server: how far the index is, or why it cannot go on."""

    seq: int = 0
    faults: tuple[str, ...] = ()


class _ServerIsGone(Exception):
    """The end of standard input; not an error, but the way out of following."""


def announce(announcement: Announcement) -> None:
    line = msgspec.json.encode(announcement) + b"\n"
    while line:
        line = line[os.write(sys.stdout.fileno(), line) :]


def announce_position(head: Head) -> None:
    announce(Announcement(seq=head.seq))


class ServersWord:
    """Standard input: when the server says that there may be something new."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    @classmethod
    async def listen(cls) -> ServersWord:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        return cls(reader)

    async def arrived(self) -> None:
        """Return when it was said, and either somebody is waiting or patience is over."""
        if AT_ONCE in await self._read():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while AT_ONCE not in await self._read():
                    pass

    async def _read(self) -> bytes:
        said = await self._reader.read(4096)
        if not said:
            raise _ServerIsGone
        return said


async def keep_up(journal_path: Path, index_path: Path) -> None:
    word = await ServersWord.listen()
    journal, index = SegmentReader(journal_path), SqliteIndex(index_path)
    try:
        await follow(journal, index, arrived=word.arrived, on_progress=announce_position)
    except _ServerIsGone:
        await catch_up(journal, index)
    finally:
        await index.close()
        journal.close()


def main() -> int:
    arguments = argparse.ArgumentParser(prog="postroad.adapters.index.process", description=__doc__)
    arguments.add_argument("--journal", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--index", type=Path, required=True, metavar="FILE")
    chosen = arguments.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes our input
    gc.set_threshold(100_000, 20, 100)  # a batch is thousands of short-lived rows without cycles
    try:
        asyncio.run(keep_up(chosen.journal, chosen.index))
    except Misconfigured as misconfigured:
        announce(Announcement(faults=misconfigured.faults))
        return EXIT_MISCONFIGURED
    except TROUBLE as trouble:  # it may pass: the server starts another one in a moment
        sys.stderr.write(f"index {chosen.index}: {trouble}; check its disk, and how much of it is free\n")
        return EXIT_TROUBLE
    except BrokenPipeError:  # the server died while it was being told; the next one starts a process of its own
        return 0
    return 0
