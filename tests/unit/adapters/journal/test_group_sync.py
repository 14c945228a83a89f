"""Quick disks are synced on the loop, slow ones in the thread, and a disk that became quick again is noticed."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from postroad.adapters.journal.segments.files import RealFiles
from postroad.adapters.journal.segments.syncing import AVERAGE_OVER, TRY_AGAIN_AFTER, GroupSync, Syncing
from postroad.testing.faults.faulty_files import die


class Disk(RealFiles):
    """A disk whose syncs take as long as the test says; notes the thread that each was made in."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.takes_s = 0.0001
        self.on_loop: list[bool] = []

    def fdatasync(self, fd: int) -> None:
        self.now_s += self.takes_s
        self.on_loop.append(threading.current_thread() is threading.main_thread())


async def sync_once(group_sync: GroupSync) -> BaseException | None:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[BaseException | None] = loop.create_future()
    group_sync.submit(0, loop, done.set_result)
    return await done


async def test_the_time_a_sync_takes_decides_where_it_runs() -> None:
    disk = Disk()
    group_sync = GroupSync(Syncing(disk, die), seconds=lambda: disk.now_s)
    for _ in range(20):
        assert await sync_once(group_sync) is None
    assert all(disk.on_loop)
    disk.takes_s = 0.05
    assert await sync_once(group_sync) is None
    disk.takes_s = 0.0001
    for _ in range(20):
        assert await sync_once(group_sync) is None
    assert all(disk.on_loop), "one slow sync says little"
    disk.takes_s = 0.05
    for _ in range(10):
        assert await sync_once(group_sync) is None
    assert disk.on_loop[-4:] == [False] * 4
    disk.takes_s = 0.0001
    for _ in range(TRY_AGAIN_AFTER * AVERAGE_OVER * 5):
        await sync_once(group_sync)
    assert all(disk.on_loop[-20:])
    group_sync.close()


async def test_an_error_in_the_thread_reaches_the_loop(tmp_path: Path) -> None:
    class Broken(Disk):
        def fdatasync(self, fd: int) -> None:
            super().fdatasync(fd)
            raise OSError(5, "Input/output error")

    disk = Broken()
    disk.takes_s = 1.0
    group_sync = GroupSync(Syncing(disk, die), seconds=lambda: disk.now_s)
    errors = [await sync_once(group_sync) for _ in range(8)]
    assert (disk.on_loop[0], disk.on_loop[-1]) == (True, False)
    assert all("fdatasync of the journal failed" in str(error) for error in errors)
    group_sync.close()
