"""The power goes at random moments of random runs; whatever was acknowledged must be there afterwards.

The model (``postroad.testing.faults.power_cuts``) keeps what was synced and a random part of what was not. The last
test shows that it notices a journal that does not sync: without it, passing would mean nothing.
"""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from postroad.adapters.journal.segments import SegmentJournal
from postroad.errors import PostroadError, Unavailable
from postroad.ports import NewRecord
from postroad.testing.faults.faulty_files import ProcessDied
from postroad.testing.faults.power_cuts import PowerCutFiles, write_files
from tests.samples.segment_runs import History, faults_of, open_small, random_group

RUNS = 10
KILLS = {"name": 0.1, "drop": 0.05}  # between a change of a name and the sync that follows is where it hurts most
CUTS_A_RUN = int(os.environ.get("POSTROAD_TEST_POWER_CUTS", "600")) // RUNS
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")


@dataclass(slots=True)
class Recorded:
    """A run: the disk's record, and what was promised from which change on."""

    disk: PowerCutFiles
    promises: list[tuple[int, History]]

    def note(self, history: History) -> None:
        self.promises.append((len(self.disk.changes), history.copy()))

    def promised(self, cut: int) -> History:
        return next(history for at, history in reversed(self.promises) if at <= cut)


async def record(path: Path, chance: Random, *, without: str = "") -> Recorded:
    """Some dozens of groups over several segments; now and then bodies are dropped, or the process is killed."""
    path.mkdir(parents=True)
    disk = PowerCutFiles(path, without=without, kill=lambda kind: chance.random() < KILLS.get(kind, 0.005))
    recorded, history, groups_left = Recorded(disk, [(0, History())]), History(), chance.randrange(25, 45)
    while groups_left:
        try:
            journal = open_small(path, disk)
            history.settle(journal)
            recorded.note(history)
            while groups_left:
                groups_left -= 1
                await one_step(journal, history, recorded, chance)
            await journal.close()
        except ProcessDied:
            disk.end_process()
    return recorded


async def one_step(journal: SegmentJournal, history: History, recorded: Recorded, chance: Random) -> None:
    history.tried = random_group(chance)
    recorded.note(history)
    await journal.append(history.tried)
    history.acknowledge()
    if chance.random() < 0.1:
        history.may_lack_bodies_before = journal.head_sync().seq + 1
        recorded.note(history)
        await journal.drop_bodies(history.may_lack_bodies_before)
    recorded.note(history)


async def after_cut(recorded: Recorded, cut: int, place: Path, chance: Random) -> None:
    """Open what a cut left, perhaps lose power again during that, then go on and read everything back."""
    shutil.rmtree(place, ignore_errors=True)
    write_files(recorded.disk.cut(cut, chance), place)
    if chance.random() < 0.3:
        again = PowerCutFiles(place)
        await open_small(place, again).close()
        left = again.cut(chance.randrange(len(again.changes) + 1), chance)
        shutil.rmtree(place)
        write_files(left, place)
    await require_everything(recorded.promised(cut), place)


async def require_everything(promised: History, place: Path) -> None:
    journal = open_small(place)
    promised.require(journal)
    count = journal.head_sync().seq
    appended = await journal.append(random_group(Random(1)))
    assert appended.first_seq == count + 1
    await journal.close()
    assert faults_of(place, expected_head=appended.head) == []


@pytest.mark.req("A3")
@pytest.mark.parametrize("run", range(RUNS))
async def test_a_power_cut_loses_nothing_that_was_acknowledged(tmp_path: Path, run: int) -> None:
    seed = SEED + run
    print(f"seed {seed}: repeat with POSTROAD_TEST_SEED={SEED}")
    chance = Random(seed)
    recorded = await record(tmp_path / "run", chance)
    for _ in range(CUTS_A_RUN):
        await after_cut(recorded, chance.randrange(len(recorded.disk.changes) + 1), tmp_path / "cut", chance)


class HalfAWrite(PowerCutFiles):
    """One write takes half of its bytes, and the rest finds no room."""

    due = False

    def pwrite(self, fd: int, data: bytes | memoryview, offset: int) -> int:
        if not self.due:
            return super().pwrite(fd, data, offset)
        self.due = False
        super().pwrite(fd, data[: len(data) // 2], offset)
        raise OSError(errno.ENOSPC, "No space left on device")


async def test_an_undone_write_leaves_nothing_behind_in_a_segment_that_is_then_sealed(tmp_path: Path) -> None:
    chance, path = Random(SEED), tmp_path / "run"
    path.mkdir()
    disk, history = HalfAWrite(path), History()
    journal = open_small(path, disk)
    await history.append(journal, random_group(chance))
    disk.due = True
    with pytest.raises(Unavailable):
        await journal.append([NewRecord(b"undone", chance.randbytes(3000))])
    await history.append(journal, [NewRecord(b"in the next segment", chance.randbytes(7900))])
    await journal.close()
    recorded = Recorded(disk, [(0, history)])
    for _ in range(40):
        await after_cut(recorded, len(disk.changes), tmp_path / "cut", chance)


@pytest.mark.parametrize("without", ["sync", "sync_names"])
async def test_a_journal_that_leaves_out_a_sync_is_caught(tmp_path: Path, without: str) -> None:
    chance = Random(SEED)
    recorded = await record(tmp_path / "run", chance, without=without)
    caught = 0
    for _ in range(40):
        cut = chance.randrange(len(recorded.disk.changes) // 2, len(recorded.disk.changes) + 1)
        try:
            await after_cut(recorded, cut, tmp_path / "cut", chance)
        except (AssertionError, PostroadError):
            caught += 1
    assert caught >= 10, f"seed {SEED}: only {caught} of 40 cuts of a journal without {without} were noticed"
