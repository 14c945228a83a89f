"""``postroad serve`` with one deliberate mistake, to show that the fault tests would notice it, or on a slow disk.

python broken_server.py late-journal serve     posts are answered before their group is written
python broken_server.py forgotten-acks serve   acknowledgements are answered and never written
python broken_server.py early-hand-outs serve  polls are answered before their hand-out is written, half a second later
python broken_server.py no-room serve          no mistake: nothing can be written while the file "no-room" lies beside the data
python broken_server.py own-disk serve         no mistake: what others on this machine write does not count as taken
python broken_server.py slow-disk serve        no mistake: as own-disk, and each sync takes some time; the server believes to use
                                               the share of its memory that the file memory-used in the working folder holds
python broken_server.py held-disk serve        no mistake: nothing is synced while there is a file hold-disk in the working
                                               folder, and the file requests-read has a byte for each post and poll
"""

from __future__ import annotations

import asyncio
import errno
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.journal.segments import files, journal, syncing
from postroad.adapters.journal.segments.space import to_unavailable
from postroad.adapters.memory_gauge import ProcessMemory
from postroad.api.messages import MessageEndpoints
from postroad.cli.main import main
from postroad.core.delivery.mailbox import Mailbox
from postroad.core.model.delivery import Queued
from postroad.flow.stages import acknowledge
from postroad.ports import Appended

LATE_S = 3.0  # far longer than a busy client needs to see an answer and kill the server
OWN_DISK_BYTES = 256 << 20
SLOW_SYNC_S = 0.02
RECORDED = LocalDesk._recorded
LATE: set[asyncio.Future[None]] = set()


class LateJournal:
    """Keeps what was written in memory for a moment, as a disk's cache does, and the durable mark with it."""

    def __init__(self) -> None:
        self._held: list[Callable[[], object]] = []
        self._lock = threading.RLock()

    def install(self) -> None:
        write_all, set_mark, close = files.write_all, files.MappedCounter.set, files.RealFiles.close

        def close_flushed(seam: files.RealFiles, fd: int) -> None:
            self.write(len(self._held))
            close(seam, fd)

        def late(work: Callable[..., object]) -> Callable[..., None]:
            return lambda *arguments: self.hold(lambda: work(*arguments))

        patch.object(journal, "write_all", late(write_all)).start()
        patch.object(files.MappedCounter, "set", late(set_mark)).start()
        patch.object(files.RealFiles, "close", close_flushed).start()
        threading.Thread(target=self._write_late, daemon=True).start()

    def hold(self, work: Callable[[], object]) -> None:
        with self._lock:
            self._held.append(work)

    def write(self, count: int) -> None:
        with self._lock:
            due, self._held = self._held[:count], self._held[count:]
            for work in due:
                work()

    def _write_late(self) -> None:
        while True:
            count = len(self._held)
            time.sleep(LATE_S)  # sleeps: this is what is broken
            self.write(min(count, len(self._held)))


def hold_disk(holding: Path) -> None:
    """Let a test choose when syncs end."""

    def sync_when_released(seam: files.RealFiles, fd: int) -> None:
        while holding.exists():
            time.sleep(0.005)  # sleeps: a held disk keeps its thread
        os.fdatasync(fd)

    patch.object(files.RealFiles, "fdatasync", sync_when_released).start()
    patch.multiple(
        syncing, QUICK_S=-1.0, TRY_AGAIN_AFTER=sys.maxsize
    ).start()  # in a thread, so that the loop continues


def slow_disk() -> None:
    """Let every sync take some time, in a thread."""

    def sync_slowly(seam: files.RealFiles, fd: int) -> None:
        time.sleep(SLOW_SYNC_S)  # sleeps: a slow disk
        os.fdatasync(fd)

    patch.object(files.RealFiles, "fdatasync", sync_slowly).start()
    patch.multiple(syncing, QUICK_S=-1.0, TRY_AGAIN_AFTER=sys.maxsize).start()


def choose_memory(used: Path) -> None:
    """Let a test choose how much memory the server seems to use."""

    def used_share(gauge: ProcessMemory) -> float:
        return float(used.read_text()) if used.exists() else 0.0

    patch.object(ProcessMemory, "used_share", used_share).start()


def note_requests(requests: Path) -> None:
    """Show a test which requests have been read: a byte for each."""

    def noted(work: Callable[..., None]) -> Callable[..., None]:
        def work_and_note(*arguments: Any) -> None:
            work(*arguments)
            with requests.open("ab") as file:
                file.write(b".")

        return work_and_note

    for name in ("_post", "_hand_out"):
        patch.object(MessageEndpoints, name, noted(getattr(MessageEndpoints, name))).start()


def own_space(seam: files.RealFiles, journal_folder: Path) -> files.DiskSpace:
    """As on a disk that has room for the data folder, what lies beside it, and nothing else."""
    taken = sum(_allocated(path) for path in journal_folder.parents[1].rglob("*"))
    return files.DiskSpace(OWN_DISK_BYTES - taken, OWN_DISK_BYTES)


def _allocated(path: Path) -> int:
    try:
        return path.lstat().st_blocks * 512
    except FileNotFoundError:  # removed meanwhile
        return 0


async def forget(*arguments: Any) -> None:
    """In place of writing it down."""


async def record_late(
    desk: LocalDesk, mailbox: str, box: Mailbox, leased: list[Queued], lease_s: float
) -> list[Queued]:
    """In place of waiting until the hand-out is durable."""
    recording = RECORDED(desk, mailbox, box, list(leased), lease_s)

    async def late() -> None:
        await asyncio.sleep(LATE_S)  # sleeps: this is what is broken
        await recording

    LATE.add(asyncio.ensure_future(late()))
    return leased


def install_full_disk() -> None:
    """Let every append fail while the file is there, as on a disk whose reserve is used up too."""
    append, no_room = journal.SegmentJournal.append, Path(os.environ["POSTROAD_DATA"]).with_name("no-room")

    async def append_if_there_is_room(*arguments: Any, **options: Any) -> Appended:
        if no_room.exists():
            raise to_unavailable(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
        return await append(*arguments, **options)

    patch.object(journal.SegmentJournal, "append", append_if_there_is_room).start()


if __name__ == "__main__":
    mistake = sys.argv.pop(1)
    if mistake == "late-journal":
        LateJournal().install()
    elif mistake == "forgotten-acks":
        patch.object(acknowledge, "commit_step", forget).start()
    elif mistake == "early-hand-outs":
        patch.object(LocalDesk, "_recorded", record_late).start()
    elif mistake == "no-room":
        install_full_disk()
    elif mistake == "held-disk":
        hold_disk(Path("hold-disk").absolute())
        note_requests(Path("requests-read").absolute())
    elif mistake == "none":
        note_requests(Path("requests-read").absolute())
    elif mistake == "slow-disk":
        slow_disk()
        choose_memory(Path("memory-used").absolute())
        patch.object(files.RealFiles, "space", own_space).start()
    elif mistake == "own-disk":
        patch.object(files.RealFiles, "space", own_space).start()
    else:
        sys.exit(f"no such mistake: {mistake}")
    main()
