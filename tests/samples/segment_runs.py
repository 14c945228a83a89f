"""Small journals, random groups, and what must be true of a journal that was opened again, for all fault tests."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from postroad.adapters.journal.segments import FileSystem, JournalDefect, SegmentJournal, SegmentSettings, verify
from postroad.ports import JournalHead, JournalRecord, NewRecord
from postroad.testing.faults.faulty_files import FaultyFiles, SameThreadExecutor, UnsyncedFiles, die

SMALL = SegmentSettings(segment_bytes=8192, reserve_bytes=4096, least_free_bytes=0, least_free_share=0)


def open_small(path: Path, files: FileSystem | None = None, settings: SegmentSettings = SMALL) -> SegmentJournal:
    """A journal of small segments whose every file call happens in this thread, in order."""
    ends = files.die if isinstance(files, FaultyFiles) else die
    return SegmentJournal.open(path, settings, files=files or UnsyncedFiles(), die=ends, threads=SameThreadExecutor())


def random_group(chance: Random, largest_body: int = 900) -> list[NewRecord]:
    return [
        NewRecord(
            chance.randbytes(chance.randrange(0, 80)),
            chance.randbytes(chance.randrange(0, largest_body)) if chance.random() < 0.7 else None,
        )
        for _ in range(chance.randrange(1, 6))
    ]


def faults_of(path: Path, expected_head: JournalHead | None = None) -> list[JournalDefect]:
    return [found for found in verify(path, expected_head) if isinstance(found, JournalDefect)]


@dataclass(slots=True)
class History:
    """The groups that were acknowledged, and the one after them that is being tried, if any."""

    groups: list[list[NewRecord]] = field(default_factory=list)
    tried: list[NewRecord] | None = None
    may_lack_bodies_before: int = 0

    def copy(self) -> History:
        return replace(self, groups=list(self.groups))

    async def append(self, journal: SegmentJournal, group: list[NewRecord]) -> None:
        self.tried = group
        await journal.append(group)
        self.acknowledge()

    def acknowledge(self) -> None:
        assert self.tried is not None
        self.groups.append(self.tried)
        self.tried = None

    def require(self, journal: SegmentJournal) -> None:
        """Every acknowledged group is there, the one being tried as a whole or not at all, and nothing else."""
        found = read_everything(journal)
        meant = [record for group in self.groups for record in group]
        if self.tried is not None and len(found) == len(meant) + len(self.tried):
            meant += self.tried
        assert [record.facts for record in found] == [record.facts for record in meant]
        for record, original in zip(found, meant, strict=True):
            self._require_body(journal, record, original)

    def settle(self, journal: SegmentJournal) -> None:
        """After a crash: require all that, then take the group that was tried for what it has become."""
        self.require(journal)
        if self.tried is not None and journal.head_sync().seq > sum(map(len, self.groups)):
            self.acknowledge()
        self.tried = None

    def _require_body(self, journal: SegmentJournal, record: JournalRecord, original: NewRecord) -> None:
        if record.body is None:
            assert original.body is None
            return
        body = journal.body_sync(record.body)
        assert body == original.body or (body is None and record.seq < self.may_lack_bodies_before)


def read_everything(journal: SegmentJournal) -> list[JournalRecord]:
    found: list[JournalRecord] = []
    while page := journal.read_sync(len(found), limit_bytes=2000).records:
        found += page
    assert [record.seq for record in found] == list(range(1, len(found) + 1))
    return found
