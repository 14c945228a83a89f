"""What the PostgreSQL index does beyond its contract: several followers, failed batches, characters it cannot hold."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import msgspec
import pytest

from postroad.adapters.index.named_sql import load_statements
from postroad.adapters.index.postgres import PostgresIndex, bulk_form, split_into_rounds
from postroad.core.model.journal import MessagePosted
from postroad.core.projection.project import project
from postroad.core.projection.tables import TABLES
from postroad.ports import JournalHead
from postroad.testing.contracts.index.story import STORY
from postroad.testing.random_journals.journals import make_plain_posts, to_records

MANY_ROWS = """
INSERT INTO delivery (number, recipient, expires_at_us) SELECT n << 16, 1, n FROM generate_series(1, 3000) AS n;
INSERT INTO journey (id, at_number, expires_at_us) SELECT n << 16, n << 16, n FROM generate_series(1, 3000) AS n;
INSERT INTO reference SELECT 'o', 'm', 's', 'n', n, '', 0, n FROM generate_series(1, 3000) AS n;
INSERT INTO relation SELECT 'o', 'm', 's', 'n', n, 's', 'n', n + 1, n FROM generate_series(1, 3000) AS n;
INSERT INTO round SELECT n, n, n, 0, 0, n FROM generate_series(1, 3000) AS n;
INSERT INTO batch SELECT n, 's' || n % 9, CASE WHEN n % 30 = 1 THEN 'open' ELSE 'sent' END, 0, 0, '', '', n
FROM generate_series(1, 3000) AS n;
INSERT INTO control_number SELECT 's' || n % 9, n, '', '', n FROM generate_series(1, 3000) AS n;
INSERT INTO batch_answer SELECT n, 0, n, '', '', '' FROM generate_series(1, 3000) AS n;
INSERT INTO batch_member SELECT n << 16, n, '', n FROM generate_series(1, 3000) AS n;
ANALYZE;
"""


@pytest.fixture
async def index(postgres_database: str) -> AsyncIterator[PostgresIndex]:
    index = await PostgresIndex.open(postgres_database)
    yield index
    await index.close()


async def test_several_followers_do_not_disturb_each_other(index: PostgresIndex, postgres_database: str) -> None:
    other = await PostgresIndex.open(postgres_database)
    records = to_records([*STORY, *make_plain_posts(200, len(STORY) + 1)])

    async def apply_all(follower: PostgresIndex, size: int) -> None:
        for start in range(0, len(records), size):
            batch = records[start : start + size]
            await follower.apply(project(batch), JournalHead(batch[-1].seq, bytes(32)))

    await asyncio.gather(apply_all(index, 7), apply_all(other, 30))
    together = {table: await index.rows(table) for table in TABLES}
    await index.clear()
    await apply_all(index, 1000)
    assert {table: await index.rows(table) for table in TABLES} == together
    await other.close()


async def test_a_failed_batch_leaves_nothing_and_does_not_stop_the_next(index: PostgresIndex) -> None:
    broken: Any = project(to_records(STORY))
    broken["insert_access"] = [(None, 5, "", "", "")]
    with pytest.raises(asyncpg.PostgresError):
        await index.apply(broken, JournalHead(len(STORY), bytes(32)))
    assert (await index.position()).seq == 0
    await index.apply(project(to_records(STORY)), JournalHead(len(STORY), bytes(32)))
    posted = [seq for seq, entry in enumerate(STORY, 1) if isinstance(entry, MessagePosted)]
    assert [row[0] for row in await index.rows("message")] == posted


async def test_a_nul_is_replaced_where_it_cannot_be_stored_and_kept_in_the_header(index: PostgresIndex) -> None:
    [post] = make_plain_posts(1)
    records = to_records([msgspec.structs.replace(post, topic="a\0b", session="s\0t")])
    await index.apply(project(records), JournalHead(1, bytes(32)))
    [row] = await index.rows("message")
    message = dict(zip(TABLES["message"], row, strict=True))
    assert (message["session"], message["topic"], message["header"]) == ("s\ufffdt", "a\0b", records[0].facts)
    assert [row[0] for row in await index.query("message", "s\0t")] == [1]


@pytest.mark.parametrize(
    ("name", "parameters", "indexes"),
    [
        ("due_journeys", (9, 10), {"journey_due", "batch_member_pkey", "batch_pkey"}),
        ("due_deliveries", (9, 10), {"delivery_due", "batch_member_pkey", "batch_pkey"}),
        ("next_due", (), {"journey_due", "delivery_due", "batch_member_pkey", "batch_pkey"}),
        ("related", ("o", "m", "s", "n", "v"), {"relation_pkey", "reference_pkey"}),
        ("journey", (9,), {"journey_pkey"}),
        ("message_rounds", (9,), {"round_message"}),
        ("batches_at", ("s1", "9", 10), {"batch_service"}),
        ("all_batches", ("9", 10), {"batch_pkey"}),
        ("batch_of", (9,), {"batch_member_pkey", "batch_pkey"}),
        ("latest_number", ("s1",), {"control_number_pkey"}),
        ("batch_answers", ("9",), {"batch_answer_batch"}),
    ],
)
async def test_what_is_due_or_related_is_found_through_an_index(
    name: str, parameters: tuple[Any, ...], indexes: set[str], index: PostgresIndex, postgres_database: str
) -> None:
    """In tables large enough that PostgreSQL would rather not read them whole."""
    connection = await asyncpg.connect(postgres_database)
    await connection.execute(MANY_ROWS)
    steps = await connection.fetch(f"EXPLAIN {load_statements('queries.sql', 'postgres')[name]}", *parameters)
    await connection.close()
    plan = "\n".join(step[0] for step in steps)
    assert set(re.findall(r"using (\w+)", plan)) == indexes, plan
    assert "Seq Scan" not in plan
    assert "Sort" not in plan or name == "related", plan


def test_a_delivery_is_changed_once_in_a_round() -> None:
    assert split_into_rounds([("a", 1), ("b", 2), ("c", 1), ("d", 1)]) == [[("a", 1), ("b", 2)], [("c", 1)], [("d", 1)]]


async def test_moves_with_and_without_a_leg_go_in_one_batch(index: PostgresIndex) -> None:
    """An array of legs with NULL in it, or of nothing else, and several moves of one journey."""
    begun = {"insert_journey": [(id_, id_, 0) for id_ in (1 << 16, 2 << 16, 3 << 16)]}
    moves = [(11, None, 11, 1 << 16), (12, 1, 12, 2 << 16), (13, 1, 13, 1 << 16), (14, None, 14, 1 << 16)]
    await index.apply({**begun, "move_journey": moves}, JournalHead(14, bytes(32)))
    await index.apply({"move_journey": [(15, None, 15, 3 << 16), (9, 1, 9, 1 << 16)]}, JournalHead(15, bytes(32)))
    assert [row[1:3] for row in await index.rows("journey")] == [(14, 1), (12, 1), (15, 0)]


def test_the_bulk_form_keeps_the_statement() -> None:
    update = bulk_form("UPDATE t SET a = $1 WHERE t.n = $2", ["int8", "text"])
    assert (
        update
        == "UPDATE t SET a = change.p1 FROM unnest($1::int8[], $2::text[]) AS change (p1, p2) WHERE t.n = change.p2"
    )
    insert = bulk_form("INSERT INTO t (a, b) VALUES ($1, 0) ON CONFLICT DO NOTHING", ["bytea"])
    assert insert == (
        "INSERT INTO t (a, b) SELECT change.p1, 0 FROM unnest($1::bytea[]) AS change (p1) ON CONFLICT DO NOTHING"
    )
    chosen = bulk_form("INSERT INTO t (a) SELECT s.a FROM s\nWHERE s.n = $1 ON CONFLICT DO NOTHING", ["int8"])
    assert chosen == (
        "INSERT INTO t (a) SELECT s.a FROM s, unnest($1::int8[]) AS change (p1) WHERE s.n = change.p1 ON CONFLICT DO NOTHING"
    )
    with pytest.raises(ValueError, match="no bulk form"):
        bulk_form("DELETE FROM t", [])
