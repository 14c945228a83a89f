"""The index process: keeps a SQLite index up to date with a segment journal that the server writes.

    python -m postroad.adapters.index.process --journal DIR --index FILE

It reads notifications on its standard input, one byte each: ``.`` means that there may be new entries, after which it
waits a little so that a batch becomes large; ``!`` means that someone is waiting. It reports its position on its
standard output, one line of JSON per batch and at least one per notification. The end of its input means that the
server is gone: the process finishes and exits.

It also writes an empty line every second from a thread of its own, so the server notices a stopped process within
seconds. An index that is damaged, or that an earlier version wrote without page checksums, ends the process with
``EXIT_DAMAGED``; the server then starts another one with ``--rebuild``, which removes the file first.

Rule: it may be killed at any moment. What it had not committed is read from the journal again.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec

from postroad.adapters.index.disk_reserve import make_reserve, use_reserve
from postroad.adapters.index.sqlite import SqliteIndex
from postroad.adapters.index.sqlite_file import UnusableIndex, check_file, remove_index
from postroad.adapters.journal.segments.reader import SegmentReader
from postroad.errors import Misconfigured
from postroad.flow.indexing import catch_up, follow
from postroad.ports import JournalHead

PATIENCE_S = 0.2  # entries that arrive meanwhile share a transaction, and its cost: at 10 000 a second there are 2000
NOTIFY_LATER = b"."
NOTIFY_NOW = b"!"
EXIT_MISCONFIGURED = 78
EXIT_TROUBLE = 75  # EX_TEMPFAIL
EXIT_DAMAGED = 76
EXIT_RESERVE_USED = 74  # disk space was freed: start another process
HEARTBEAT = b"\n"
HEARTBEAT_S = 1.0
IDLE_S = 5.0  # without news, until the write-ahead log is copied to the database file
CHECKED_AT_ONCE_BYTES = 64 << 20  # takes about 0.1 s
DISK_ERRORS = (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.ReadOnlyError, apsw.CantOpenError, OSError)


class Announcement(msgspec.Struct, omit_defaults=True):
    """One line to the server: the position of the index, or the reason why it cannot continue."""

    seq: int = 0
    faults: tuple[str, ...] = ()


class _ServerIsGone(Exception):
    """The end of standard input; not an error, but the way out of following."""


def announce(announcement: Announcement) -> None:
    line = msgspec.json.encode(announcement) + b"\n"
    while line:
        line = line[os.write(sys.stdout.fileno(), line) :]


def announce_position(head: JournalHead) -> None:
    announce(Announcement(seq=head.seq))


class ServerNotices:
    """Reads standard input: notices from the server that there may be new entries."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self.on_idle: Callable[[], None] = lambda: None

    @classmethod
    async def listen(cls) -> ServerNotices:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        return cls(reader)

    async def wait(self) -> None:
        """Returns after a notice, once a client is waiting or the delay has passed."""
        if NOTIFY_NOW in await self._read_or_idle():
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while NOTIFY_NOW not in await self._read():
                    pass

    async def _read_or_idle(self) -> bytes:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IDLE_S):
                return await self._read()
        self.on_idle()
        return await self._read()

    async def _read(self) -> bytes:
        said = await self._reader.read(4096)
        if not said:
            raise _ServerIsGone
        return said


async def keep_up(journal_path: Path, index_path: Path) -> None:
    threading.Thread(target=beat, args=(sys.stdout.fileno(),), name="heartbeat", daemon=True).start()
    word = await ServerNotices.listen()
    was_open = _size(index_path.with_name(index_path.name + "-wal")) > 0
    journal, index = SegmentReader(journal_path), SqliteIndex(index_path)
    try:
        word.on_idle = index.settle
        check_index(index_path, was_open=was_open)
        make_reserve(index_path)
        await follow(journal, index, arrived=word.wait, on_progress=announce_position)
    except _ServerIsGone:
        await catch_up(journal, index)
    finally:
        await index.close()
        journal.close()


def check_index(path: Path, *, was_open: bool) -> None:
    """Read the whole index once: a small one at every start, a larger one only after an unclean stop, in the background."""
    if _size(path) <= CHECKED_AT_ONCE_BYTES:
        check_file(path)
    elif was_open:
        threading.Thread(target=_check_or_end, args=(path,), name="index check", daemon=True).start()


def _check_or_end(path: Path) -> None:
    try:
        check_file(path)
    except UnusableIndex as damage:
        sys.stderr.write(f"{damage}\n")
        os._exit(EXIT_DAMAGED)


def beat(out: int) -> None:
    """Show the server every second that this process runs."""
    pause = threading.Event()
    with contextlib.suppress(OSError):  # the server is gone, which the main thread notices as well
        while not pause.wait(HEARTBEAT_S):
            os.write(out, HEARTBEAT)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def main() -> int:
    arguments = argparse.ArgumentParser(prog="postroad.adapters.index.process", description=__doc__)
    arguments.add_argument("--journal", type=Path, required=True, metavar="DIR")
    arguments.add_argument("--index", type=Path, required=True, metavar="FILE")
    arguments.add_argument("--starting", action="store_true", help="the server is starting: use all of the reserve")
    arguments.add_argument("--rebuild", action="store_true", help="remove the index first")
    chosen = arguments.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes our input
    gc.set_threshold(100_000, 20, 100)  # a batch is thousands of short-lived rows without cycles
    try:
        if chosen.rebuild:
            remove_index(chosen.index)
        asyncio.run(keep_up(chosen.journal, chosen.index))
    except UnusableIndex as damage:
        sys.stderr.write(f"{damage}\n")
        return EXIT_DAMAGED
    except Misconfigured as misconfigured:
        announce(Announcement(faults=misconfigured.faults))
        return EXIT_MISCONFIGURED
    except BrokenPipeError:  # the server died during the report; the next server starts its own process
        return 0
    except DISK_ERRORS as trouble:  # it may pass: the server starts another one in a moment
        if use_reserve(chosen.index, is_starting=chosen.starting):
            sys.stderr.write(f"index {chosen.index}: {trouble}; using some of the disk space reserved for it\n")
            return EXIT_RESERVE_USED
        sys.stderr.write(f"index {chosen.index}: {trouble}; check its disk, and how much of it is free\n")
        return EXIT_TROUBLE
    return 0
