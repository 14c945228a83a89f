"""``postroad serve`` with one deliberate mistake, to show that the fault tests would notice it, or on a slow disk.

python broken_server.py late-journal serve     posts are answered before their group is written
python broken_server.py forgotten-acks serve   acknowledgements are answered and never written
python broken_server.py own-disk serve         no mistake: what others on this machine write does not count as taken
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from postroad.adapters.journal.segments import files, journal
from postroad.cli.main import main
from postroad.flow import settle

LATE_S = 0.3
SLOW_S = {"slow-disk": 0.02, "very-slow-disk": 1.0}
OWN_DISK_BYTES = 256 << 20


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
            time.sleep(LATE_S)
            self.write(min(count, len(self._held)))


def syncing_in(seconds: float) -> Callable[[files.RealFiles, int], None]:
    def sync_slowly(seam: files.RealFiles, fd: int) -> None:
        time.sleep(seconds)
        os.fdatasync(fd)

    return sync_slowly


def own_space(seam: files.RealFiles, journal_folder: Path) -> files.Space:
    """As on a disk that has room for the data folder, what lies beside it, and nothing else."""
    taken = sum(_allocated(path) for path in journal_folder.parents[1].rglob("*"))
    return files.Space(OWN_DISK_BYTES - taken, OWN_DISK_BYTES)


def _allocated(path: Path) -> int:
    try:
        return path.lstat().st_blocks * 512
    except FileNotFoundError:  # removed meanwhile
        return 0


async def forget(*arguments: Any) -> None:
    """In place of writing it down."""


if __name__ == "__main__":
    mistake = sys.argv.pop(1)
    if mistake == "late-journal":
        LateJournal().install()
    elif mistake == "forgotten-acks":
        patch.object(settle, "committed", forget).start()
    elif mistake in SLOW_S:
        patch.object(files.RealFiles, "fdatasync", syncing_in(SLOW_S[mistake])).start()
    elif mistake == "own-disk":
        patch.object(files.RealFiles, "space", own_space).start()
    else:
        sys.exit(f"no such mistake: {mistake}")
    main()
