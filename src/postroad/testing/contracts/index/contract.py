"""The contract suite of indexes. A new index's test is a subclass that opens an empty one.

    class TestMyIndex(IndexContract):
        @pytest.fixture
        async def index(self) -> AsyncIterator[Index]: ...  # yield it, then close it

Run with pytest, pytest-asyncio in auto mode, and hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import DeliveriesAcknowledged, DeliveriesLeased, Entry, encode
from postroad.core.projection.project import pack_pairs, project
from postroad.core.projection.queries import QUERIES
from postroad.core.projection.tables import TABLES
from postroad.errors import Unavailable
from postroad.flow.indexing import catch_up, rebuild
from postroad.ports import BodyAt, Index, JournalHead, JournalRecord
from postroad.testing.contracts.index.story import BANK, BUYER, STORY, WAITING
from postroad.testing.contracts.index.story_batches import BATCHER, BATCHES
from postroad.testing.contracts.index.story_batches import QUESTIONS as BATCH_QUESTIONS
from postroad.testing.contracts.index.story_journeys import JOURNEYS, RECORD_SAVED_TWICE
from postroad.testing.contracts.index.story_questions import QUESTIONS
from postroad.testing.random_journals.journals import make_plain_posts, random_cuts, to_new_records, to_records
from postroad.testing.random_journals.journals import random_journals as journals
from postroad.testing.random_journals.values import SERVICES

Tables = dict[str, list[tuple[Any, ...]]]

EMPTY = JournalHead(0, bytes(32))
JOURNAL_SETTINGS = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors, HealthCheck.too_slow],
)


def head_after(records: Sequence[JournalRecord]) -> JournalHead:
    return JournalHead(records[-1].seq, bytes([records[-1].seq % 256]) * 32)


async def apply(index: Index, records: Sequence[JournalRecord]) -> None:
    await index.apply(project(records), head_after(records))


async def apply_in_pieces(index: Index, records: Sequence[JournalRecord], ends: Sequence[int]) -> None:
    for start, end in pairwise([0, *ends]):
        await apply(index, records[start:end])


async def tables(index: Index) -> Tables:
    return {table: await index.rows(table) for table in TABLES}


class IndexContract:
    """The whole suite; each test has an empty index of its own."""

    @pytest.fixture
    def index(self) -> Index:
        pytest.fail("a subclass overrides this fixture and opens an empty index")

    @pytest.fixture
    async def told(self, index: Index) -> Index:
        """Return the index after all entries of the story."""
        await apply(index, to_records(STORY))
        return index

    # ---- answers

    @pytest.mark.parametrize("name", QUERIES)
    async def test_it_answers(self, told: Index, name: str) -> None:
        asked = [question for question in QUESTIONS if question.name == name]
        assert asked, "a question without an answer in the story"
        for question in asked:
            rows = await told.query(name, *question.parameters)
            assert question.answered(rows) == question.rows, question.parameters
            assert all(len(row) == len(QUERIES[name][1]) for row in rows)

    async def test_every_table_has_rows_after_the_story(self, told: Index) -> None:
        assert [table for table, rows in (await tables(told)).items() if not rows] == []

    async def test_a_waiting_delivery_comes_with_its_header_and_body(self, told: Index) -> None:
        [row] = await told.query("delivery", WAITING)
        answer = dict(zip(QUERIES["delivery"][1], row, strict=True))
        record = to_records(STORY)[13]
        assert answer["header"] == record.facts == encode(STORY[13])
        body = tuple(answer[f"body_{field}"] for field in ("segment", "offset", "length", "digest"))
        assert body == record.body

    async def test_long_queues_are_read_page_by_page(self, index: Index) -> None:
        await apply(index, to_records(list(make_plain_posts(250, services=1))))
        numbers: list[int] = []
        while page := await index.query("mailbox", f"{0:016x}", numbers[-1] if numbers else 0, 100):
            numbers += [row[0] for row in page]
        assert numbers == [delivery_number(seq, 0) for seq in range(1, 251)]

    async def test_pages_go_back_over_long_stretches_without_the_service(self, index: Index) -> None:
        seqs = [1, 4095, 4096, 4097, 20_000, 3_000_000]
        [post] = make_plain_posts(1)
        for seq in seqs:
            await apply(index, to_records([post], first_seq=seq))
        await apply(index, to_records(list(make_plain_posts(50, 30_001)), first_seq=30_001))
        recipient = post.copies[0].hops[0].service
        for service, question, unit in ((post.sender, "sent_by", 1), (recipient, "received_by", 1 << 16)):
            found: list[int] = []
            while page := await index.query(question, service, (found[-1] if found else 2**46) * unit, 2):
                found += [row[0] // unit for row in page]
            assert [seq for seq in found if seq in seqs] == seqs[::-1]
            assert found == sorted(found, reverse=True)

    # ---- repeating and cutting

    @JOURNAL_SETTINGS
    @given(data=st.data(), entries=journals())
    async def test_the_cut_into_batches_does_not_matter(
        self, index: Index, data: st.DataObject, entries: list[Entry]
    ) -> None:
        records = to_records(entries)
        await index.clear()
        await apply(index, records)
        at_once = await tables(index)
        for ends in (range(1, len(records) + 1), data.draw(random_cuts(len(records)))):
            await index.clear()
            await apply_in_pieces(index, records, list(ends))
            assert await tables(index) == at_once

    @JOURNAL_SETTINGS
    @given(data=st.data(), entries=journals())
    async def test_applying_again_changes_nothing(
        self, index: Index, data: st.DataObject, entries: list[Entry]
    ) -> None:
        records = to_records(entries)
        await index.clear()
        await apply(index, records)
        once, position = await tables(index), await index.position()
        await apply_in_pieces(index, records, data.draw(random_cuts(len(records))))
        assert await tables(index) == once
        assert await index.position() == position

    @pytest.mark.req("A2")
    @JOURNAL_SETTINGS
    @given(entries=journals())
    async def test_a_rebuilt_index_equals_the_live_one(self, index: Index, entries: list[Entry]) -> None:
        await index.clear()
        journal = MemoryJournal()
        for record in to_new_records(entries):
            await journal.append([record])
            await catch_up(journal, index)
        live = await tables(index)
        assert await rebuild(journal, index) == await journal.head() == await index.position()
        assert await tables(index) == live

    @JOURNAL_SETTINGS
    @given(data=st.data(), entries=journals())
    async def test_all_indexes_give_the_same_answers(
        self, index: Index, data: st.DataObject, entries: list[Entry]
    ) -> None:
        """Each index agrees with the memory index, which shares no SQL with the others, and with itself in other batches."""
        records, memory = to_records(entries), MemoryIndex()
        await index.clear()
        await apply_in_pieces(index, records, data.draw(random_cuts(len(records))))
        await apply(memory, records)
        assert await tables(index) == await tables(memory)
        for name in QUERIES:
            for parameters in await _parameters(name, memory):
                assert await index.query(name, *parameters) == await memory.query(name, *parameters), (name, parameters)

    # ---- position

    async def test_a_new_index_stands_before_the_first_entry(self, index: Index) -> None:
        assert await index.position() == EMPTY

    async def test_the_position_moves_with_the_changes_and_never_back(self, index: Index) -> None:
        records = to_records(STORY)
        await apply(index, records)
        assert await index.position() == head_after(records)
        await apply(index, records[:3])
        assert await index.position() == head_after(records)

    async def test_a_cleared_index_is_a_new_one(self, told: Index) -> None:
        await told.clear()
        assert await told.position() == EMPTY
        assert await tables(told) == {table: [] for table in TABLES}
        await apply(told, to_records(STORY))
        assert await told.query("mailboxes") == [(BATCHER, 2), (BANK, 4), (BUYER, 2)]

    # ---- rules

    async def test_a_final_state_is_final(self, told: Index) -> None:
        late: list[Entry] = [
            DeliveriesAcknowledged(at_us=15_000, by=BANK, deliveries=(WAITING,)),
            DeliveriesAcknowledged(at_us=16_000, by=BANK, deliveries=(WAITING,)),
        ]
        next_seq = len(STORY) + 1
        await apply(
            told,
            to_records(
                [*late, DeliveriesLeased(at_us=17_000, by=BANK, lease_s=1.0, deliveries=(WAITING,))], first_seq=next_seq
            ),
        )
        [row] = await told.query("delivery", WAITING)
        answer = dict(zip(QUERIES["delivery"][1], row, strict=True))
        assert (answer["settle_seq"], answer["settled_at_us"], answer["reason"]) == (next_seq, 15_000, "acknowledged")

    @pytest.mark.parametrize("batch", [1, 2, 4])
    async def test_every_lease_stays_on_the_trail(self, index: Index, batch: int) -> None:
        number = delivery_number(1, 0)
        leases: list[Entry] = [
            DeliveriesLeased(at_us=at_us, by=BANK, lease_s=1.0, deliveries=(number,)) for at_us in (2, 3, 4)
        ]
        [post] = make_plain_posts(1)
        records = to_records([post, *leases, DeliveriesAcknowledged(at_us=5, by=BANK, deliveries=(number,))])
        await apply_in_pieces(index, records, [*range(batch, 5, batch), 5])
        assert await index.rows("trail") == [(number, 2), (number, 3)]
        assert await index.query("transaction_trail", post.transaction) == [(2,), (3,), (4,), (5,)]

    @pytest.mark.parametrize("batch", [1, 2, 3, 100])
    async def test_a_journey_is_told_alike_however_the_batches_fall(self, index: Index, batch: int) -> None:
        """The result does not depend on batches, even if a journey begins, moves and ends within one batch."""
        for course in JOURNEYS:
            await index.clear()
            records = to_records(course.entries)
            ends = [*range(batch, len(records), batch), len(records)]
            for _ in range(2):  # again from the start, as after a crash that reset the position
                await apply_in_pieces(index, records, ends)
                assert await index.rows("journey") == course.journeys, course.name
                states = {row[0]: row[7] for row in await index.rows("delivery")}
                assert states == course.states, course.name

    @pytest.mark.req("B5")
    @pytest.mark.parametrize("piece", [1, 2, 3, 100])
    async def test_a_batch_is_told_alike_however_the_entries_are_cut(self, index: Index, piece: int) -> None:
        """The result does not depend on batches, even if a lease ends or a member is returned to its batch."""
        first = len(STORY) - len(BATCHES)
        records = to_records(STORY)
        ends = [*range(first + piece, len(STORY), piece), len(STORY)]
        for _ in range(2):  # again from the start, as after a crash that reset the position
            await apply_in_pieces(index, records, [first, *ends])
            for question in BATCH_QUESTIONS:
                rows = await index.query(question.name, *question.parameters)
                assert question.answered(rows) == question.rows, question

    async def test_of_two_records_under_one_key_the_later_stays(self, index: Index) -> None:
        await apply(index, to_records(RECORD_SAVED_TWICE))
        await apply(index, to_records(RECORD_SAVED_TWICE[:1]))
        [record] = await index.rows("reference")
        assert record[-3:] == (pack_pairs([("a", "2")]), 2000, 2)

    async def test_the_first_use_of_a_key_counts(self, index: Index) -> None:
        twice = [entry for post in make_plain_posts(1) for entry in (post, post)]
        await apply(index, to_records(twice))
        [(key, *_)] = await index.rows("seen")
        assert [row[2] for row in await index.query("seen", key)] == [1]

    async def test_a_key_is_found_however_long_ago_it_was_used(self, index: Index) -> None:
        [first] = to_records(list(make_plain_posts(1)))
        [last] = to_records(list(make_plain_posts(2))[1:], first_seq=3_000_000)
        await apply(index, [first])
        keys = [key for key, *_ in await index.rows("seen")]
        await apply(index, [last])
        keys += [key for key, *_ in await index.rows("seen") if key not in keys]
        assert [(await index.query("seen", key))[0][2] for key in keys] == [1, 3_000_000]
        assert await index.query("recent_keys", 5) == [(key,) for key in reversed(keys)]
        assert {key for (key,) in await index.query("keys_from", min(keys), 5)} == set(keys)
        assert await index.query("keys_from", max(keys), 5) == [(max(keys),)]
        assert len(await index.query("keys_from", min(keys), 1)) == 1

    async def test_a_batch_that_would_leave_a_gap_is_refused_and_changes_nothing(self, index: Index) -> None:
        records = to_records(list(make_plain_posts(9)))
        await apply(index, records[:3])
        with pytest.raises(Unavailable):
            await index.apply(project(records[6:]), head_after(records), after=6)
        assert await index.position() == head_after(records[:3])
        assert len(await index.rows("message")) == 3
        await index.apply(project(records[3:]), head_after(records), after=3)
        assert len(await index.rows("message")) == 9

    async def test_values_keep_their_type(self, index: Index) -> None:
        seq, time_us = 2**46, 2**60
        [post] = make_plain_posts(1)
        post = msgspec.structs.replace(
            post, at_us=time_us, size=2**40, session="", transaction="\u00e9\U0001f4e8", handle="'; --"
        )
        body, access = BodyAt(2**50, 2**51, 2**33, b""), (seq, time_us, "", "'", '"')
        changes = project([JournalRecord(seq, encode(post), body)]) | {"insert_access": [access]}
        [message] = changes["insert_message"]
        await index.apply(changes, JournalHead(seq, b"\0\xff" * 16))
        assert await index.rows("message") == [message]
        assert await index.rows("access") == [access]
        assert await index.position() == JournalHead(seq, b"\0\xff" * 16)
        assert [type(value) for value in (await index.rows("message"))[0]] == [type(value) for value in message]


async def _parameters(name: str, memory: MemoryIndex) -> list[tuple[Any, ...]]:
    """Return parameters of a query that match rows in this index, and some that match none."""
    if name == "object_versions":
        return [(kind, key) for kind, key, *_ in await memory.rows("object")] + [("service", "none")]
    if name == "related":
        ends = [row[:5] for table in ("reference", "relation") for row in await memory.rows(table)]
        return [*ends, ("none", "customers", "", "", "")]
    if name == "control_number":
        return [row[:2] for row in await memory.rows("control_number")] + [("none", 1)]
    batches = [row[0] for row in await memory.rows("batch")] + ["none"]
    pools: dict[str, list[Any]] = {
        "key": [row[0] for row in await memory.rows("found" if name == "found" else "seen")] + [0],
        "number": [row[0] for row in await memory.rows("delivery")] + [1],
        "seq": [row[0] for row in await memory.rows("message")] + [0],
        "message_seq": [row[0] for row in await memory.rows("message")] + [0],
        "session": [row[1] for table in ("message", "refused") for row in await memory.rows(table)] + ["none"],
        "transaction_id": [row[1] for row in await memory.rows("message")] + ["none"],
        "recipient": [*SERVICES, "none"],
        "sender": [*SERVICES, ""],
        "id": batches if name == "batch" else [row[0] for row in await memory.rows("journey")] + [1],
        "batch": batches,
        "before_id": ["~", *batches],
        "service": [*SERVICES, "none"],
        "series": [row[0] for row in await memory.rows("control_number")] + ["none"],
        "until_us": [0, 10, 2**61],
        "limit": [3, 1000],
        "after_number": [0, delivery_number(5, 0)],
        "before_number": [2**62, delivery_number(5, 0)],
        "after_seq": [0, 5],
        "before_seq": [2**62, 5],
    }
    found: list[tuple[Any, ...]] = [()]
    for parameter in QUERIES[name][0]:
        found = [(*before, value) for before in found for value in pools[parameter]]
    return found
