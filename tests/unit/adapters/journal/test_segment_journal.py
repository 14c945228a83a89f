"""The segment journal keeps the contract of every journal, and what only it promises: one writer, rolling over, large groups."""

from __future__ import annotations

import asyncio
import errno
import os
from pathlib import Path
from random import Random

import pytest

from postroad.adapters.journal.segments import RealFiles, SegmentJournal, SegmentReader, SegmentSettings
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import Journal, NewRecord
from postroad.testing.contracts.journal.contract import JournalContract
from postroad.testing.faults.faulty_files import SameThreadExecutor, UnsyncedFiles
from tests.samples.segment_runs import History, faults_of, open_small, random_group

TINY = SegmentSettings(segment_bytes=2048, reserve_bytes=1024, least_free_bytes=0, least_free_share=0)


class TestSegmentJournal(JournalContract):
    """With ordinary segments, real syncs and real threads."""

    settings = SegmentSettings(segment_bytes=4 << 20, reserve_bytes=1 << 20, least_free_bytes=0, least_free_share=0)

    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.path = tmp_path / "journal"

    async def open(self) -> Journal:
        return SegmentJournal.open(self.path, self.settings)

    async def reopen(self, journal: Journal) -> Journal:
        await journal.close()
        return SegmentJournal.open(self.path, self.settings)


class TestTinySegments(TestSegmentJournal):
    """With segments so small that nearly every group begins a new one."""

    settings = TINY


async def test_a_power_cut_leaves_the_folders_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal's names are worth nothing while the folder's own name is not on the disk."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(os.fstat(fd).st_ino))
    data = tmp_path / "srv" / "data"
    RealFiles().make_directory(data / "journal")
    assert synced == [folder.stat().st_ino for folder in (data, data.parent, tmp_path)]
    RealFiles().make_directory(data / "journal")  # whose maker may have been killed before it was synced
    assert synced[3:] == [data.stat().st_ino]


class FailingReads(UnsyncedFiles):
    """A disk that has forgotten how to read."""

    is_broken = False

    def pread(self, fd: int, length: int, offset: int) -> bytes:
        if self.is_broken:
            raise OSError(errno.EIO, "Input/output error")
        return super().pread(fd, length, offset)


async def test_a_disk_that_cannot_read_is_said_with_a_code(tmp_path: Path) -> None:
    files = FailingReads()
    journal = SegmentJournal.open(tmp_path, TINY, files=files)
    appended = await journal.append([NewRecord(b"facts", b"body")])
    files.is_broken = True
    for read in (journal.read(0), journal.body(appended.bodies[0])):  # type: ignore[arg-type]
        with pytest.raises(Unavailable, match=r"storage\.damaged.*Input/output error"):
            await read
    await journal.close()


async def test_a_second_writer_is_told_why_it_cannot_start(tmp_path: Path) -> None:
    journal = open_small(tmp_path)
    with pytest.raises(Misconfigured, match="another process is writing"):
        open_small(tmp_path)
    await journal.close()
    await open_small(tmp_path).close()


async def test_appends_roll_over_into_new_segments(tmp_path: Path) -> None:
    history, chance = History(), Random(1)
    journal = SegmentJournal.open(tmp_path, TINY, files=UnsyncedFiles())
    for _ in range(60):
        await history.append(journal, random_group(chance))
    assert len(list(tmp_path.glob("*.seg"))) > 10
    history.require(journal)
    await journal.close()
    assert faults_of(tmp_path, expected_head=journal.head_sync()) == []


async def test_a_body_is_found_in_a_segment_that_nobody_has_read_from_yet(tmp_path: Path) -> None:
    journal = open_small(tmp_path, settings=TINY)
    try:
        for number in range(40):
            body = number.to_bytes(2, "big") * 4_096
            appended = await journal.append([NewRecord(b"facts", body)])
            [at] = appended.bodies
            assert at is not None
            assert await journal.body(at) == body
    finally:
        await journal.close()


async def test_a_group_larger_than_a_segment_gets_one_of_its_own(tmp_path: Path) -> None:
    journal = open_small(tmp_path, settings=TINY)
    large = NewRecord(b"large", bytes(range(256)) * 1000)
    await journal.append([NewRecord(b"before", None)])
    await journal.append([large])
    appended = await journal.append([NewRecord(b"after", b"x")])
    assert [record.facts for record in journal.read_sync(0).records] == [b"before", b"large", b"after"]
    assert journal.body_sync(journal.read_sync(1).records[0].body) == large.body  # type: ignore[arg-type]
    await journal.close()
    journal = open_small(tmp_path, settings=TINY)
    assert journal.head_sync() == appended.head
    await journal.close()


async def test_two_appends_at_once_are_a_mistake_that_is_seen(tmp_path: Path) -> None:
    journal = SegmentJournal.open(tmp_path, TINY)
    slow_disk(journal)
    first = asyncio.create_task(journal.append([NewRecord(b"first", None)]))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="one append at a time"):
        await journal.append([NewRecord(b"second", None)])
    assert (await first).first_seq == 1
    await journal.close()


async def test_a_cancelled_append_is_in_the_journal_or_not_but_never_half(tmp_path: Path) -> None:
    journal = SegmentJournal.open(tmp_path, TINY)
    for number in range(40):
        slow_disk(journal)
        task = asyncio.create_task(journal.append([NewRecord(b"%d" % number, bytes(700))]))
        for _ in range(number % 5):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.wait_for(journal._idle.wait(), 30)
    await journal.append([NewRecord(b"end", None)])
    kept = [record.facts for record in journal.read_sync(0).records]
    assert kept == [*sorted(set(kept[:-1]), key=int), b"end"]
    await journal.close()
    assert faults_of(tmp_path, expected_head=journal.head_sync()) == []


def slow_disk(journal: SegmentJournal) -> None:
    """Make the journal believe that its disk is slow, so that it syncs in the thread."""
    journal._group_sync._average_s = 1.0
    journal._group_sync._in_thread = 0


async def test_what_a_crash_left_unfinished_is_swept_away(tmp_path: Path) -> None:
    await open_small(tmp_path).close()
    for name in ("next.spare.tmp", "large.tmp", "00000000000000000001.facts.tmp"):
        (tmp_path / name).write_bytes(b"half")
    await open_small(tmp_path).close()
    assert list(tmp_path.glob("*.tmp")) == []


async def test_a_changed_segment_size_holds_for_the_next_segment(tmp_path: Path) -> None:
    await open_small(tmp_path, settings=TINY).close()
    journal = open_small(tmp_path)
    for number in range(8):
        await journal.append([NewRecord(b"%d" % number, bytes(1000))])
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("*.seg"))]
    assert sizes[0] == 2048
    assert set(sizes[1:]) == {8192}
    await journal.close()


async def test_a_reader_needs_a_journal(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="start the server"):
        SegmentReader(tmp_path)


async def test_nothing_is_left_open(tmp_path: Path) -> None:
    before = set(Path("/proc/self/fd").iterdir()) if Path("/proc/self/fd").exists() else set()
    for _ in range(3):
        journal = SegmentJournal.open(tmp_path, TINY, files=UnsyncedFiles(), threads=SameThreadExecutor())
        for _ in range(5):
            await journal.append([NewRecord(b"facts", bytes(900))])
        journal.read_sync(0)
        await journal.close()
    assert len(set(Path("/proc/self/fd").iterdir()) if before else set()) <= len(before)
