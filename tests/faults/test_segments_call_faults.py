"""Every file call fails once, in every way it can; the journal refuses, goes on or ends, and loses nothing."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from random import Random

import pytest

from postroad.adapters.journal.segments import SegmentJournal
from postroad.adapters.journal.segments.files import RealFiles
from postroad.errors import Misconfigured, Unavailable
from postroad.ports import NewRecord
from postroad.testing.faults.faulty_files import FaultyFiles, InjectedFailure, ProcessDied
from tests.samples.segment_runs import History, faults_of, open_small, random_group

CALLS = ("create", "pwrite", "allocate", "fdatasync", "rename", "unlink", "sync_directory")


async def work(path: Path, files: FaultyFiles, history: History, outcomes: set[str]) -> None:
    """Appends over several segments, bodies dropped once; whatever is refused is left out, as a poster would see it."""
    chance = Random(3)
    journal = open_small(path, files)
    for number in range(14):
        history.tried = random_group(chance)
        try:
            await history.append(journal, history.tried)
        except Unavailable as refusal:
            outcomes.add(refusal.code)
            history.require(journal)
            history.tried = None
        if number == 10:
            await drop(journal, history, outcomes)
    await journal.close()


async def drop(journal: SegmentJournal, history: History, outcomes: set[str]) -> None:
    history.may_lack_bodies_before = journal.head_sync().seq + 1
    try:
        await journal.drop_bodies(history.may_lack_bodies_before)
    except Unavailable as refusal:
        outcomes.add(refusal.code)


async def outcome_of(path: Path, *faults: InjectedFailure) -> set[str]:
    """Run into the faults, open again with a healthy disk, and require that nothing acknowledged is missing."""
    files, history, outcomes = FaultyFiles(*faults), History(), set[str]()
    try:
        await work(path, files, history, outcomes)
    except ProcessDied:
        assert files.ended
    except Misconfigured:
        outcomes.add("did not open")
    if files.ended:
        outcomes.add("died")
    files.end_process()
    journal = open_small(path)
    history.settle(journal)
    await history.append(journal, [NewRecord(b"after", b"all")])
    history.require(journal)
    await journal.close()
    assert faults_of(path, journal.head_sync()) == []
    return outcomes


async def calls_of_a_run(path: Path) -> dict[str, int]:
    files = FaultyFiles()
    await work(path, files, History(), set())
    return files.plan.calls


@pytest.mark.parametrize("action", ["EIO", "ENOSPC", "crash", "short"])
async def test_each_call_fails_once(tmp_path: Path, action: str) -> None:
    counts = await calls_of_a_run(tmp_path / "count")
    assert min(counts.get(call, 0) for call in CALLS if call != "allocate") > 0
    for call in CALLS if action != "short" else ("pwrite",):
        for nth in range(1, counts.get(call, 0) + 1):
            outcomes = await outcome_of(tmp_path / f"{call}{nth}", InjectedFailure(call=call, nth=nth, action=action))
            if action == "short":
                assert outcomes == set()
            elif action == "crash" or call in ("fdatasync", "sync_directory"):
                assert outcomes == {"died"}, f"{call} {nth}: {outcomes}"
            else:
                assert "died" not in outcomes, f"{call} {nth}: {outcomes}"


async def test_a_disk_that_takes_no_more_writes_is_named_and_never_half_written(tmp_path: Path) -> None:
    counts = await calls_of_a_run(tmp_path / "count")
    for nth in range(1, counts["pwrite"] + 1):
        fault = InjectedFailure(call="pwrite", nth=nth, action="ENOSPC", lasting=True)
        assert await outcome_of(tmp_path / str(nth), fault) & {"storage.full", "died", "did not open"}


async def test_write_errors_have_a_code_for_each_cause(tmp_path: Path) -> None:
    nth = (await calls_of_a_run(tmp_path / "count"))["pwrite"]  # the last append of the run
    full = await outcome_of(tmp_path / "full", InjectedFailure(call="pwrite", nth=nth, action="ENOSPC"))
    failed = await outcome_of(tmp_path / "failed", InjectedFailure(call="pwrite", nth=nth, action="EIO"))
    assert (full, failed) == ({"storage.full"}, {"storage.failed"})


async def test_nothing_is_appended_after_a_failed_sync(tmp_path: Path) -> None:
    files = FaultyFiles()
    journal = open_small(tmp_path, files)
    files.plan.faults = (InjectedFailure(call="fdatasync", nth=files.plan.calls["fdatasync"] + 1, action="EIO"),)
    with pytest.raises(ProcessDied):
        await journal.append([NewRecord(b"lost", None)])
    with pytest.raises(RuntimeError, match="must not be used any more"):
        await journal.append([NewRecord(b"more", None)])
    assert journal.read_sync(0).records == []
    files.end_process()


ENDS_AT_ONCE = """
import asyncio, errno, sys
from pathlib import Path
from postroad.adapters.journal.segments import RealFiles, SegmentJournal, SegmentSettings
from postroad.ports import NewRecord

class FailingSync(RealFiles):
    failing = False
    def fdatasync(self, fd):
        if self.failing:
            raise OSError(errno.EIO, "Input/output error")

async def main():
    files = FailingSync()
    journal = SegmentJournal.open(Path(sys.argv[1]), SegmentSettings(segment_bytes=65536, reserve_bytes=65536), files=files)
    await journal.append([NewRecord(b"kept", None)])
    files.failing = True
    try:
        await journal.append([NewRecord(b"unknown", None)])
    finally:
        print("still here")

asyncio.run(main())
"""


async def test_a_failed_sync_ends_the_process_at_once(tmp_path: Path) -> None:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", ENDS_AT_ONCE, str(tmp_path)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await asyncio.wait_for(child.communicate(), 60)
    assert child.returncode == 70
    assert b"still here" not in output
    assert b"restart it to recover" in errors
    journal = SegmentJournal.open(tmp_path)
    assert journal.read_sync(0).records[0].facts == b"kept"
    await journal.close()


class LosesOneSync(RealFiles):
    """As Linux does it: the failed sync drops the pages from the list of dirty ones, but they can still be read."""

    def __init__(self) -> None:
        self.dirty: list[tuple[int, int]] = []

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        self.dirty.append((offset, offset + len(data)))
        return super().pwrite(fd, data, offset)


async def test_what_was_readable_only_from_memory_is_written_again(tmp_path: Path) -> None:
    journal = open_small(tmp_path)
    at = (await journal.append([NewRecord(b"facts", b"body" * 50)])).bodies[0]
    await journal.close()
    files = LosesOneSync()
    journal = open_small(tmp_path, files)
    assert at is not None
    assert any(begin <= at.offset and end >= at.offset + at.length for begin, end in files.dirty)
    await journal.close()
