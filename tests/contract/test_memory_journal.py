"""The journal in memory keeps the contract of its port, and has the chain of the journal in files."""

from __future__ import annotations

from postroad.adapters.journal.segments.frame import EMPTY, ENTRY, NO_BODY, NO_DIGEST, chain_value
from postroad.adapters.memory.journal import MemoryJournal
from postroad.ports import Journal, NewRecord
from postroad.testing.contracts.journal.contract import JournalContract


class TestMemoryJournal(JournalContract):
    async def open(self) -> Journal:
        return MemoryJournal()

    async def reopen(self, journal: Journal) -> Journal:
        return journal  # a restart would lose it; within the process it is simply still there

    async def test_its_chain_is_that_of_the_segment_journal(self) -> None:
        journal = MemoryJournal()
        table = ENTRY.pack(3, NO_BODY, NO_DIGEST) + ENTRY.pack(2, NO_BODY, NO_DIGEST)
        appended = await journal.append([NewRecord(b"one", None), NewRecord(b"II", None)])
        assert appended.head.chain == chain_value(EMPTY.chain, 1, 2, table, b"oneII")

    async def test_a_dropped_body_is_gone_and_its_facts_stay(self) -> None:
        journal = MemoryJournal()
        appended = await journal.append([NewRecord(b"a", b"old"), NewRecord(b"b", b"new")])
        await journal.drop_bodies(before_seq=2)
        assert [await journal.body(at) for at in appended.bodies if at] == [None, b"new"]
        assert (await journal.read(0)).head == appended.head
