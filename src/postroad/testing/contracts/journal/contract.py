"""The contract suite of journals. A new journal's test is a subclass that opens one.

    class TestMyJournal(JournalContract):
        async def open(self) -> Journal: ...
        async def reopen(self, journal: Journal) -> Journal: ...

Run with pytest and pytest-asyncio in auto mode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import pytest

from postroad.errors import PostroadError
from postroad.ports import BodyAt, Journal, NewRecord


def _records(*texts: str) -> list[NewRecord]:
    return [NewRecord(f"facts of {text}".encode(), f"body of {text}".encode()) for text in texts]


class JournalContract(ABC):
    """The whole suite; each test opens a journal of its own."""

    @abstractmethod
    async def open(self) -> Journal:
        """Return a new, empty journal."""

    @abstractmethod
    async def reopen(self, journal: Journal) -> Journal:
        """Return the same journal closed and opened again, like after a restart."""

    async def test_a_new_journal_is_empty(self) -> None:
        journal = await self.open()
        assert (await journal.head()).seq == 0
        assert (await journal.read(0)).records == []
        await journal.close()

    async def test_records_are_numbered_from_one_without_gaps(self) -> None:
        journal = await self.open()
        first = await journal.append(_records("a", "b"))
        second = await journal.append(_records("c"))
        assert (first.first_seq, first.head.seq) == (1, 2)
        assert (second.first_seq, second.head.seq) == (3, 3)
        assert await journal.head() == second.head
        await journal.close()

    async def test_what_was_appended_reads_back_in_order(self) -> None:
        journal = await self.open()
        await journal.append(_records("a", "b"))
        await journal.append(_records("c"))
        batch = await journal.read(0)
        found = batch.records
        assert batch.head == await journal.head()
        assert [record.seq for record in found] == [1, 2, 3]
        assert [record.facts for record in found] == [b"facts of a", b"facts of b", b"facts of c"]
        assert [await journal.body(record.body) for record in found if record.body] == [
            b"body of a",
            b"body of b",
            b"body of c",
        ]
        await journal.close()

    async def test_the_answer_says_where_the_bodies_lie(self) -> None:
        journal = await self.open()
        appended = await journal.append([NewRecord(b"with", b"body"), NewRecord(b"without", None)])
        assert [record.body for record in (await journal.read(0)).records] == appended.bodies
        assert appended.bodies[0] is not None
        assert await journal.body(appended.bodies[0]) == b"body"
        assert appended.bodies[1] is None
        await journal.close()

    async def test_no_body_and_an_empty_body_differ(self) -> None:
        journal = await self.open()
        await journal.append([NewRecord(b"", b""), NewRecord(b"", None)])
        empty, none = (await journal.read(0)).records
        assert empty.body is not None
        assert await journal.body(empty.body) == b""
        assert none.body is None
        await journal.close()

    async def test_large_and_binary_bodies_come_back_byte_for_byte(self) -> None:
        journal = await self.open()
        bodies = [bytes(range(256)) * 4096, b"\0" * 70_000, b"\xff"]
        appended = await journal.append([NewRecord(b"\0\xff", body) for body in bodies])
        assert [await journal.body(at) for at in appended.bodies if at] == bodies
        await journal.close()

    async def test_reading_goes_on_after_a_record(self) -> None:
        journal = await self.open()
        await journal.append(_records("a", "b", "c"))
        await journal.append(_records("d"))
        assert [record.seq for record in (await journal.read(3)).records] == [4]
        assert [record.seq for record in (await journal.read(1)).records] == [2, 3, 4]
        assert (await journal.read(4)).records == []
        await journal.close()

    async def test_a_reader_with_little_room_gets_whole_groups_one_after_the_other(self) -> None:
        journal = await self.open()
        for number in range(20):
            await journal.append(_records(f"{number} first", f"{number} second"))
        seen: list[int] = []
        while page := (await journal.read(seen[-1] if seen else 0, limit_bytes=1)).records:
            assert len(page) % 2 == 0
            seen += [record.seq for record in page]
        assert seen == list(range(1, 41))
        await journal.close()

    async def test_the_head_of_a_batch_is_the_one_its_last_append_answered(self) -> None:
        journal = await self.open()
        heads = [(await journal.append(_records("a", "b"))).head, (await journal.append(_records("c"))).head]
        first = await journal.read(0, limit_bytes=1)
        assert first.head == heads[0]
        assert (await journal.read(first.head.seq, limit_bytes=1)).head == heads[1]
        await journal.close()

    async def test_a_single_record_is_found_wherever_it_lies(self) -> None:
        journal = await self.open()
        for number in range(30):
            await journal.append(_records(*(f"{number}.{part}" for part in range(number % 4 + 1))))
        everything = (await journal.read(0)).records
        for seq in (1, 50, 2, 72, 33, 33, 73):
            assert (await journal.read(seq - 1, limit_bytes=1)).records[0] == everything[seq - 1]
        await journal.close()

    async def test_the_chain_covers_everything_before(self) -> None:
        journal = await self.open()
        chains = {(await journal.head()).chain}
        for _ in range(3):
            chains.add((await journal.append(_records("the same again"))).head.chain)
        assert len(chains) == 4
        await journal.close()

    async def test_a_restart_changes_nothing(self) -> None:
        journal = await self.open()
        await journal.append(_records("a", "b"))
        appended = await journal.append([*_records("c"), NewRecord(b"d", None)])
        before = await journal.read(0)
        journal = await self.reopen(journal)
        assert await journal.head() == appended.head
        assert await journal.read(0) == before
        assert appended.bodies[0] is not None
        assert await journal.body(appended.bodies[0]) == b"body of c"
        assert (await journal.append(_records("e"))).first_seq == 5
        assert [record.seq for record in (await journal.read(0)).records] == [1, 2, 3, 4, 5]
        await journal.close()

    async def test_a_body_that_is_not_the_one_written_is_an_error(self) -> None:
        journal = await self.open()
        at = (await journal.append(_records("a"))).bodies[0]
        assert at is not None
        with pytest.raises(PostroadError):
            await journal.body(BodyAt(at.segment, at.offset, at.length, bytes(32)))
        await journal.close()

    async def test_a_group_has_at_least_one_record(self) -> None:
        journal = await self.open()
        with pytest.raises(ValueError, match="at least one"):
            await journal.append([])
        assert (await journal.head()).seq == 0
        await journal.close()

    async def test_the_reserve_is_the_same_journal(self) -> None:
        journal = await self.open()
        await journal.append(_records("a"))
        await journal.append(_records("b"), reserve=True)
        assert [record.facts for record in (await journal.read(0)).records] == [b"facts of a", b"facts of b"]
        await journal.close()
