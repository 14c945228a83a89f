"""A disk that fills up: ordinary appends are refused early, acknowledgements go on, and room makes all well again."""

from __future__ import annotations

import errno
from contextlib import suppress
from pathlib import Path

import pytest

from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from postroad.adapters.journal.segments.space import FAILED_S
from postroad.errors import Unavailable
from postroad.ports import NewRecord
from postroad.testing.faults.faulty_files import FaultyFiles, SameThreadExecutor
from tests.samples.segment_runs import History, faults_of, open_small

SETTINGS = SegmentSettings(segment_bytes=8192, reserve_bytes=4096, least_free_bytes=1 << 20, least_free_share=0.0)
POST = [NewRecord(b"post", bytes(1000))]
ACK = [NewRecord(b"acknowledged", None)]


class FullDisk(FaultyFiles):
    """A disk without a free byte: only what is already there can be written over."""

    full = False

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        if self.full and offset + len(data) > self.size(fd):
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().pwrite(fd, data, offset)

    def allocate(self, fd: int, size: int) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().allocate(fd, size)


def opened(path: Path, files: FaultyFiles) -> SegmentJournal:
    return SegmentJournal.open(path, SETTINGS, files=files, die=files.die, threads=SameThreadExecutor())


def wait_for_the_next_look(journal: SegmentJournal) -> None:
    journal._space._next_check_s = 0


async def test_below_the_watermark_posts_are_refused_and_acknowledgements_go_on(tmp_path: Path) -> None:
    files, history = FaultyFiles(free_bytes=10 << 20), History()
    journal = opened(tmp_path, files)
    await history.append(journal, POST)
    files.free_bytes = (1 << 20) - 1
    wait_for_the_next_look(journal)
    with pytest.raises(Unavailable, match=r"storage.full: .*make room") as refused:
        await journal.append(POST)
    assert refused.value.retry_after_s > 0
    await journal.append(ACK, reserve=True)
    assert [record.facts for record in journal.read_sync(0).records] == [b"post", b"acknowledged"]
    files.free_bytes = 10 << 20
    wait_for_the_next_look(journal)
    await journal.append(POST)
    await journal.close()
    assert faults_of(tmp_path, journal.head_sync()) == []


async def test_the_share_of_the_disk_counts_where_it_is_the_larger(tmp_path: Path) -> None:
    files = FaultyFiles(free_bytes=(1 << 40) // 20 - 1)  # of a disk of 1 TiB
    settings = SegmentSettings(segment_bytes=8192, reserve_bytes=4096, least_free_bytes=1, least_free_share=0.05)
    journal = SegmentJournal.open(tmp_path, settings, files=files, threads=SameThreadExecutor())
    with pytest.raises(Unavailable, match=r"storage.full"):
        await journal.append(POST)
    await journal.close()


async def test_the_disk_is_asked_at_most_every_100_ms(tmp_path: Path) -> None:
    asked = 0

    class Asked(FaultyFiles):
        def space(self, path: Path):  # type: ignore[no-untyped-def]
            nonlocal asked
            asked += 1
            return super().space(path)

    journal = opened(tmp_path, Asked(free_bytes=10 << 20))
    journal._space._monotonic = lambda: 5.0
    for _ in range(50):
        await journal.append(ACK)
    assert asked == 1
    journal._space._monotonic = lambda: 5.11
    await journal.append(ACK)
    assert asked == 2
    await journal.close()


async def test_with_no_byte_free_acknowledgements_use_the_reserve(tmp_path: Path) -> None:
    files, history = FullDisk(free_bytes=10 << 20), History()
    journal = opened(tmp_path, files)
    files.full = True
    refused = 0
    for _ in range(40):  # the journal's own two segments last for some posts, then ordinary appends find no room
        try:
            await history.append(journal, POST)
        except Unavailable as refusal:
            refused += refusal.code == "storage.full"
    assert refused > 20
    history.tried = None
    for _ in range(30):
        await reserve(journal, history)
    history.require(journal)
    files.full = False
    await history.append(journal, POST)
    assert (tmp_path / "reserve.spare").exists()
    await journal.close()
    again = open_small(tmp_path)
    history.require(again)
    await again.close()


async def reserve(journal: SegmentJournal, history: History) -> None:
    history.tried = ACK
    await journal.append(ACK, reserve=True)
    history.acknowledge()


async def test_bodies_can_be_dropped_to_make_room(tmp_path: Path) -> None:
    files = FaultyFiles(free_bytes=10 << 20)
    journal = opened(tmp_path, files)
    for _ in range(30):
        await journal.append(POST)
    files.free_bytes = 0
    dropped = await journal.drop_bodies(journal.head_sync().seq)
    assert dropped.segments >= 3
    assert dropped.freed_bytes > 20_000
    await journal.close()


async def test_a_journal_is_not_writable_below_the_watermark(tmp_path: Path) -> None:
    files = FaultyFiles(free_bytes=10 << 20)
    journal = opened(tmp_path, files)
    journal.require_writable()
    files.free_bytes = (1 << 20) - 1
    wait_for_the_next_look(journal)
    with pytest.raises(Unavailable, match=r"storage.full"):
        journal.require_writable()
    files.free_bytes = 10 << 20
    wait_for_the_next_look(journal)
    journal.require_writable()
    await journal.close()


async def test_a_journal_is_not_writable_for_a_while_after_a_write_has_failed(tmp_path: Path) -> None:
    files, now = FullDisk(free_bytes=10 << 20), 5.0
    journal = opened(tmp_path, files)
    journal._space._monotonic = lambda: now
    files.full = True
    with suppress(Unavailable):
        for _ in range(100):
            await journal.append(POST)
    with pytest.raises(Unavailable, match=r"storage.full"):
        journal.require_writable()
    now += FAILED_S
    journal.require_writable()
    files.full = False
    await journal.close()
