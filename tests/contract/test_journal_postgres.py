"""The PostgreSQL journal keeps the promises of every journal, and those of one that many nodes write to at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.adapters.journal.postgres import PACKAGE, PostgresJournal
from postroad.adapters.journal.postgres_group import group_from_row, pack
from postroad.adapters.journal.postgres_schema import migrate
from postroad.adapters.journal.segments import frame
from postroad.errors import Misconfigured
from postroad.ports import Journal, NewRecord
from postroad.testing.journal_contract import JournalContract

WRITERS = 4
GROUPS = 40


class TestPostgresJournal(JournalContract):
    @pytest.fixture(autouse=True)
    def _database(self, postgres_database: str) -> None:
        self.dsn = postgres_database

    async def open(self) -> Journal:
        return await PostgresJournal.open(self.dsn)

    async def reopen(self, journal: Journal) -> Journal:
        await journal.close()
        return await PostgresJournal.open(self.dsn)


@pytest.fixture
async def journal(postgres_database: str) -> AsyncIterator[PostgresJournal]:
    journal = await PostgresJournal.open(postgres_database)
    yield journal
    await journal.close()


async def chain_holds(journal: PostgresJournal) -> bool:
    head = frame.EMPTY
    async for group, bodies in journal.groups():
        if not frame.follows(group, head) or not frame.lengths_agree(group):
            return False
        if bodies is not None and len(bodies) != group.bodies_bytes:
            return False
        head = group.head
    return head == await journal.head()


@pytest.mark.req("A3")
async def test_the_chain_is_the_one_of_segment_files(journal: PostgresJournal) -> None:
    before = frame.EMPTY
    for texts in (["a"], ["b", "c"], [str(number) for number in range(300)]):
        records = [NewRecord(text.encode(), text.encode() * 3 if len(text) % 2 else None) for text in texts]
        appended = await journal.append(records)
        packed = pack(records)
        chain = frame.link(before.chain, before.seq + 1, len(records), packed.entries, packed.facts)
        assert appended.head == (before.seq + len(records), chain)
        before = appended.head
    assert await chain_holds(journal)


async def test_a_changed_fact_breaks_the_chain(journal: PostgresJournal, postgres_database: str) -> None:
    await journal.append([NewRecord(b"one", b"body"), NewRecord(b"two", None)])
    await journal.append([NewRecord(b"three", b"body")])
    connection = await asyncpg.connect(postgres_database)
    await connection.execute("UPDATE journal_group SET facts = 'onetwx' WHERE first_seq = 1")
    await connection.close()
    assert not await chain_holds(journal)


async def test_writers_on_many_nodes_leave_no_gap_that_a_reader_could_pass(postgres_database: str) -> None:
    nodes = [await PostgresJournal.open(postgres_database) for _ in range(WRITERS)]
    reader = await PostgresJournal.open(postgres_database)
    total = WRITERS * sum(number % 3 + 1 for number in range(GROUPS))

    async def write(node: int) -> list[tuple[int, bytes]]:
        written = []
        for number in range(GROUPS):
            texts = [f"{node}.{number}.{part}".encode() for part in range(number % 3 + 1)]
            first = (await nodes[node].append([NewRecord(text, text) for text in texts])).first_seq
            written += list(enumerate(texts, first))
        return written

    async def follow() -> list[tuple[int, bytes]]:
        seen: list[tuple[int, bytes]] = []
        while len(seen) < total:
            batch = await reader.read(seen[-1][0] if seen else 0)
            seen += [(record.seq, record.facts) for record in batch.records]
        return seen

    *written, seen = await asyncio.gather(*(write(node) for node in range(WRITERS)), follow())
    assert [seq for seq, _ in seen] == list(range(1, total + 1))
    assert sorted(pair for one in written for pair in one) == seen
    assert await chain_holds(reader)
    for node in (*nodes, reader):
        await node.close()


async def test_bodies_are_dropped_and_the_chain_stays(journal: PostgresJournal) -> None:
    first = await journal.append([NewRecord(b"a", b"body a"), NewRecord(b"b", b"body b")])
    second = await journal.append([NewRecord(b"c", b"body c"), NewRecord(b"d", b"body d")])
    before = await journal.read(0)
    assert await journal.drop_bodies(4) == 1  # the second group reaches to 4, so it is kept whole
    assert [await journal.body(at) for at in first.bodies if at] == [None, None]
    assert [await journal.body(at) for at in second.bodies if at] == [b"body c", b"body d"]
    after = await journal.read(0)
    assert [record.facts for record in after.records] == [record.facts for record in before.records]
    assert after.head == before.head
    assert await chain_holds(journal)
    assert await journal.drop_bodies(4) == 0


async def test_a_database_of_a_newer_program_is_left_alone(journal: PostgresJournal, postgres_database: str) -> None:
    connection = await asyncpg.connect(postgres_database)
    await connection.execute("UPDATE postroad_schema SET version = 99")
    with pytest.raises(Misconfigured, match="newer postroad"):
        await PostgresJournal.open(postgres_database)
    await connection.close()


async def test_many_nodes_may_start_on_an_empty_database_at_once(postgres_database: str) -> None:
    async def start() -> None:
        connection = await asyncpg.connect(postgres_database)
        await migrate(connection, "journal", PACKAGE)
        await connection.close()

    await asyncio.gather(*(start() for _ in range(5)))
    journal = await PostgresJournal.open(postgres_database)
    assert (await journal.append([NewRecord(b"a", None)])).first_seq == 1
    await journal.close()


async def test_a_database_that_is_not_there_is_the_operators_business() -> None:
    with pytest.raises(Misconfigured, match="check that PostgreSQL runs"):
        await PostgresJournal.open("postgresql://nobody:x@127.0.0.1:1/nothing")


records = st.builds(NewRecord, st.binary(max_size=40), st.none() | st.binary(max_size=60))


@given(st.lists(records, min_size=1, max_size=8))
def test_a_packed_group_gives_its_records_back(given_records: list[NewRecord]) -> None:
    packed = pack(given_records)
    chain = frame.link(bytes(32), 7, len(given_records), packed.entries, packed.facts)
    row = (7, 6 + len(given_records), chain, packed.entries, packed.facts, True, len(packed.bodies))
    group = group_from_row(row)
    found = list(frame.records(group, 7))
    assert [record.facts for record in found] == [record.facts for record in given_records]
    assert [record.body for record in found] == [place.body(7) for place in packed.places]
    for (_, body), record in zip(given_records, found, strict=True):
        at = record.body
        assert (None if at is None else packed.bodies[at.offset : at.offset + at.length]) == body
