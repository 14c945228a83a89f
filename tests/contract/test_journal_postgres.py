"""The PostgreSQL journal keeps the promises of every journal, and those of one that many nodes write to at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.adapters.journal.postgres import PACKAGE, PostgresJournal
from postroad.adapters.journal.postgres_group import group_from_row, group_records, pack
from postroad.adapters.journal.postgres_schema import migrate
from postroad.adapters.journal.postgres_verification import verify
from postroad.adapters.journal.segments import frame
from postroad.adapters.journal.segments.verification import JournalDefect
from postroad.errors import Misconfigured
from postroad.ports import Journal, JournalHead, NewRecord
from postroad.testing.contracts.journal.contract import JournalContract

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


async def faults(journal: PostgresJournal, expected_head: JournalHead | None = None) -> list[str]:
    return [found.kind async for found in verify(journal, expected_head) if isinstance(found, JournalDefect)]


async def chain_holds(journal: PostgresJournal) -> bool:
    return await faults(journal) == []


@pytest.mark.req("A3")
async def test_the_chain_is_the_one_of_segment_files(journal: PostgresJournal) -> None:
    before = frame.EMPTY
    for texts in (["a"], ["b", "c"], [str(number) for number in range(300)]):
        records = [NewRecord(text.encode(), text.encode() * 3 if len(text) % 2 else None) for text in texts]
        appended = await journal.append(records)
        packed = pack(records)
        chain = frame.chain_value(before.chain, before.seq + 1, len(records), packed.entries, packed.facts)
        assert appended.head == (before.seq + len(records), chain)
        before = appended.head
    assert await chain_holds(journal)


MUTATIONS = {
    "a fact is changed": ("UPDATE journal_group SET facts = set_byte(facts, 0, 7) WHERE first_seq = 3", "changed"),
    "a fact is cut off": ("UPDATE journal_group SET facts = substring(facts FROM 2) WHERE first_seq = 3", "changed"),
    "a body is changed": ("UPDATE journal_group SET bodies = set_byte(bodies, 0, 7) WHERE first_seq = 3", "changed"),
    "a body is cut off": ("UPDATE journal_group SET bodies = substring(bodies FOR 3) WHERE first_seq = 3", "changed"),
    "a digest is changed": (
        "UPDATE journal_group SET entries = set_byte(entries, 9, 7) WHERE first_seq = 3",
        "changed",
    ),
    "an entry is gone": (
        "UPDATE journal_group SET entries = substring(entries FROM 41) WHERE first_seq = 3",
        "changed",
    ),
    "bytes are gone": ("UPDATE journal_group SET entries = substring(entries FROM 2) WHERE first_seq = 3", "changed"),
    "a length is changed": ("UPDATE journal_group SET bodies_bytes = 1 WHERE first_seq = 3", "changed"),
    "a chain is changed": ("UPDATE journal_group SET chain = set_byte(chain, 0, 7) WHERE first_seq = 3", "changed"),
    "the last chain is changed": ("UPDATE journal_group SET chain = sha256(chain) WHERE first_seq = 5", "changed"),
    "the head is changed": ("UPDATE journal_head SET chain = sha256(chain)", "changed"),
    "a group is gone": ("DELETE FROM journal_group WHERE first_seq = 3", "missing"),
    "the first is gone": ("DELETE FROM journal_group WHERE first_seq = 1", "missing"),
    "the last is gone": ("DELETE FROM journal_group WHERE first_seq = 5", "truncated"),
    "all are gone": ("DELETE FROM journal_group", "truncated"),
    "a number is changed": ("UPDATE journal_group SET last_seq = 5 WHERE first_seq = 3", "changed"),
    "groups change places": (
        """UPDATE journal_group SET first_seq = 9 - first_seq, last_seq = 11 - last_seq WHERE first_seq = 3;
        UPDATE journal_group SET first_seq = 3, last_seq = 4 WHERE first_seq = 5;
        UPDATE journal_group SET first_seq = 5, last_seq = 6 WHERE first_seq = 6""",
        "changed",
    ),
    "a group is put in twice": (
        """INSERT INTO journal_group SELECT 2, 2, chain, entries, facts, bodies, bodies_bytes
        FROM journal_group WHERE first_seq = 1""",
        "repeated",
    ),
}


@pytest.mark.req("A3")
@pytest.mark.parametrize("what", MUTATIONS)
async def test_verify_finds_that(what: str, journal: PostgresJournal, postgres_database: str) -> None:
    for pair in (("a", "b"), ("c", "d"), ("e", "f")):
        await journal.append([NewRecord(f"facts {text}".encode(), f"body {text}".encode()) for text in pair])
    assert await faults(journal) == []
    statement, kind = MUTATIONS[what]
    connection = await asyncpg.connect(postgres_database)
    await connection.execute(statement)
    await connection.close()
    assert kind in await faults(journal)


@pytest.mark.req("A3")
async def test_verify_finds_a_history_that_was_written_anew(journal: PostgresJournal, postgres_database: str) -> None:
    known = (await journal.append([NewRecord(b"a", None)])).head
    connection = await asyncpg.connect(postgres_database)
    await connection.execute("DELETE FROM journal_group; UPDATE journal_head SET seq = 0, chain = sha256('')")
    await connection.execute("UPDATE journal_head SET chain = decode(repeat('00', 32), 'hex')")
    await connection.close()
    assert await faults(journal) == []  # nothing is left that could tell …
    assert await faults(journal, known) == ["truncated"]  # … but the index knows
    await journal.append([NewRecord(b"b", None)])
    assert await faults(journal, known) == ["changed"]


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
    first = await journal.append([NewRecord(b"a", b"body a"), NewRecord(b"b", b"body b"), NewRecord(b"0", b"")])
    second = await journal.append([NewRecord(b"c", b"body c"), NewRecord(b"d", b"body d")])
    before = await journal.read(0)
    assert await journal.drop_bodies(5) == 1  # the second group reaches to 5, so it is kept whole
    assert [await journal.body(at) for at in first.bodies if at] == [None, None, b""]
    assert [await journal.body(at) for at in second.bodies if at] == [b"body c", b"body d"]
    after = await journal.read(0)
    assert [record.facts for record in after.records] == [record.facts for record in before.records]
    assert after.head == before.head
    assert await chain_holds(journal)
    assert await journal.drop_bodies(5) == 0


async def test_a_database_of_a_newer_program_is_left_alone(journal: PostgresJournal, postgres_database: str) -> None:
    connection = await asyncpg.connect(postgres_database)
    await connection.execute("UPDATE postroad_schema SET version = 99, usable_from = 99")
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
    chain = frame.chain_value(bytes(32), 7, len(given_records), packed.entries, packed.facts)
    row = (7, 6 + len(given_records), chain, packed.entries, packed.facts, True, len(packed.bodies))
    group = group_from_row(row)
    found = list(group_records(group))
    assert [record.facts for record in found] == [record.facts for record in given_records]
    assert [record.body for record in found] == [place.body(7) for place in packed.places]
    for given_record, record in zip(given_records, found, strict=True):
        body = given_record.body
        at = record.body
        assert (None if at is None else packed.bodies[at.offset : at.offset + at.length]) == body
