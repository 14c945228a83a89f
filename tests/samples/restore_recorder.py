"""A recorder of restores that notes what it is told."""

from __future__ import annotations

from postroad.adapters.journal.segments.frame import RecordGroup
from postroad.ports import JournalHead, NewRecord


class Recorder:
    """Makes one entry, and counts the restored records."""

    def __init__(self) -> None:
        self.records = 0
        self.heads: list[JournalHead] = []

    def add(self, group: RecordGroup) -> None:
        self.records += group.record_count

    def make_records(self, head: JournalHead) -> list[NewRecord]:
        self.heads.append(head)
        return [NewRecord(b"restored", None)]


class KilledRecorder(Recorder):
    """Ends the restore before its entries are written."""

    def make_records(self, head: JournalHead) -> list[NewRecord]:
        raise RuntimeError("killed")
