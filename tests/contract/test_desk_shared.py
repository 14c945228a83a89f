"""The shared desk keeps every promise of a desk, alone and when several nodes use one database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest
from msgspec.structs import replace

from postroad.adapters.desk import shared_claims
from postroad.adapters.desk.searches import SEARCH_S
from postroad.adapters.desk.shared import PACKAGE, SQL, SharedDesk
from postroad.adapters.desk.shared_group import GroupPlan
from postroad.adapters.desk.shared_rebuild import rebuild_desk
from postroad.adapters.journal import postgres_schema
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.memory.index import MemoryIndex
from postroad.core.model.delivery import Queued
from postroad.core.model.selector import Selector
from postroad.core.projection.unique_keys import unique_keys
from postroad.errors import Unavailable
from postroad.ports import Clock, Committed, Conflict, Desk, JournalBatch, JournalStep
from postroad.testing.clocks import ManualClock
from postroad.testing.contracts.desk.contract import DeskContract
from postroad.testing.contracts.desk.desk_under_test import (
    CARRIER,
    LEASE_S,
    SELLER,
    DeskHarness,
    catch_up_index,
    delivery_numbers,
)
from postroad.testing.random_journals.journals import make_plain_posts
from tests.waiting import eventually_async


class Node:
    """One node of a network that shares a database."""

    def __init__(self, journal: PostgresJournal, clock: Clock, attempts_most: int) -> None:
        self.journal = journal
        self.index = MemoryIndex()
        self.told: list[int] = []
        self.desk = SharedDesk(
            journal,
            self.index,
            clock,
            wait_for_entry=self._wait_for_entry,
            attempts_most=attempts_most,
            on_committed=self.told.append,
        )

    @classmethod
    async def start(cls, dsn: str, clock: Clock, attempts_most: int = 20) -> Node:
        node = cls(await PostgresJournal.open(dsn), clock, attempts_most)
        await node.desk.open()
        return node

    async def stop(self) -> None:
        try:
            await self.desk.close()
        finally:
            await self.journal.close()

    async def _wait_for_entry(self, seq: int) -> None:
        await catch_up_index(self.journal, self.index)


class TestSharedDesk(DeskContract):
    @pytest.fixture(autouse=True)
    def _database(self, postgres_database: str) -> None:
        self.dsn = postgres_database

    async def open(self, clock: Clock, attempts_most: int) -> Desk:
        self.clock, self.attempts_most = clock, attempts_most
        self.node = await Node.start(self.dsn, clock, attempts_most)
        return self.node.desk

    async def restart(self, desk: Desk) -> Desk:
        await self.node.stop()
        return await self.open(self.clock, self.attempts_most)

    def stalled(self, desk: Desk) -> AbstractAsyncContextManager[None]:
        return stalled(self.dsn)

    async def shut(self, desk: Desk) -> None:
        await self.node.stop()


@asynccontextmanager
async def stalled(dsn: str) -> AsyncIterator[None]:
    """Hold the lock under which every group is numbered."""
    async with connected(dsn) as connection, connection.transaction():
        await connection.execute("SELECT FROM journal_head FOR UPDATE")
        yield


async def until_somebody_waits_for_a_lock(dsn: str) -> None:
    async with connected(dsn) as connection:
        await eventually_async(lambda: connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"))


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def kept_waiting(dsn: str, groups: int) -> None:
    """Return when so many groups wait for that lock; they get it in the order in which they came."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    async with connected(dsn) as connection:
        await eventually_async(lambda: connection.fetchval(f"SELECT ({waiting}) >= $1", groups))


class Nodes:
    """Nodes on one database and one clock, all of which are stopped after the test, however it ends."""

    def __init__(self, dsn: str, stops: AsyncExitStack) -> None:
        self.clock = ManualClock()
        self._dsn = dsn
        self._stops = stops

    async def start(self) -> tuple[Node, DeskHarness]:
        node = await Node.start(self._dsn, self.clock)
        self._stops.push_async_callback(node.stop)
        return node, DeskHarness(node.desk, self.clock)


@pytest.fixture
async def nodes(postgres_database: str) -> AsyncIterator[Nodes]:
    async with AsyncExitStack() as stops:
        yield Nodes(postgres_database, stops)


@pytest.fixture
async def two_nodes(nodes: Nodes) -> tuple[DeskHarness, DeskHarness]:
    (_, here), (_, there) = await nodes.start(), await nodes.start()
    return here, there


@pytest.mark.req("O3")
async def test_a_post_on_one_node_wakes_and_reaches_a_poller_on_another(
    two_nodes: tuple[DeskHarness, DeskHarness],
) -> None:
    here, there = two_nodes
    waiting = asyncio.ensure_future(there.desk.arrival(SELLER, 120))

    def is_waiting() -> bool:
        return SELLER in there.desk._arrivals._waiting  # type: ignore[attr-defined]

    await eventually_async(is_waiting)
    seq = await here.post(here.message(), b"over there")
    await asyncio.wait_for(waiting, 30)
    [queued] = await there.poll()
    assert queued.message_seq == seq
    assert await there.desk.body(queued) == b"over there"
    assert await here.poll() == []
    await here.acknowledge(queued.number)
    there.clock.advance(LEASE_S + 1)
    assert await there.poll() == []


@pytest.mark.req("O3", "M6")
async def test_a_handle_is_used_once_over_all_nodes(two_nodes: tuple[DeskHarness, DeskHarness]) -> None:
    steps = []
    for number in range(40):
        message = two_nodes[number % 2].message(handle=f"h{number // 4}")
        steps.append((two_nodes[number % 2], JournalStep(message, b"x", tuple(unique_keys(message)))))
    outcomes = await asyncio.gather(*(network.submit(step) for network, step in steps))
    for first in range(0, 40, 4):
        four = outcomes[first : first + 4]
        [winner] = [outcome for outcome in four if isinstance(outcome, Committed)]
        conflicts = [outcome for outcome in four if isinstance(outcome, Conflict)]
        assert [outcome.seq for outcome in conflicts] == [winner.seq] * 3
    assert len(await two_nodes[0].poll()) == 10


async def test_pollers_on_two_nodes_never_hold_the_same_delivery(two_nodes: tuple[DeskHarness, DeskHarness]) -> None:
    for _ in range(60):
        await two_nodes[0].post(two_nodes[0].message())
    got = await asyncio.gather(*(two_nodes[number % 2].poll(most=7) for number in range(14)))
    handed_out = [number for one in got for number in delivery_numbers(one)]
    assert len(handed_out) == len(set(handed_out))
    rest = delivery_numbers(await two_nodes[0].poll())
    assert sorted(handed_out + rest) == sorted({*handed_out, *rest})
    assert len(handed_out + rest) == 60


async def test_a_node_hears_of_every_group_of_every_node(nodes: Nodes) -> None:
    (here, network), (there, _) = await nodes.start(), await nodes.start()
    last = [await network.post(network.message(to=tuple(f"{part:016x}" for part in range(size)))) for size in (1, 900)]
    await eventually_async(lambda: len(here.told) >= 2 and len(there.told) >= 2)
    assert there.told == here.told == last


async def tables(dsn: str) -> list[list[tuple[object, ...]]]:
    queries = ("SELECT * FROM desk_seen ORDER BY key", "SELECT * FROM desk_queue ORDER BY number")
    async with connected(dsn) as connection:
        return [[tuple(row) for row in await connection.fetch(query)] for query in queries]


async def test_the_tables_rebuilt_from_the_journal_equal_the_live_ones(nodes: Nodes, postgres_database: str) -> None:
    node, network = await nodes.start()
    await asyncio.gather(*(network.post(network.message(handle=f"h{n}", via=CARRIER * (n % 2))) for n in range(60)))
    for queued in await network.poll(CARRIER, most=20):
        await network.pass_on(queued)
    await network.acknowledge(*delivery_numbers(await network.poll(most=15)))
    await network.give_back(*delivery_numbers(await network.poll(most=5)), delay_s=77)
    late = await network.poll(CARRIER, most=2)
    await network.acknowledge(*delivery_numbers(late))
    await network.pass_on(late[0])  # its delivery is gone: the message's place is looked up in the journal
    live = await tables(postgres_database)
    assert [len(rows) for rows in live] == [81, 44]
    await rebuild_desk(node.journal)
    assert await tables(postgres_database) == live
    assert len(await network.poll(CARRIER)) == 8


async def test_ends_of_journeys_are_known_after_the_tables_were_rebuilt(nodes: Nodes, postgres_database: str) -> None:
    node, network = await nodes.start()
    for _ in range(4):
        await network.post(network.message(via=CARRIER))
    taken = await network.poll(CARRIER)
    await network.acknowledge(*delivery_numbers(taken[:2]), by=CARRIER)  # so that an end finds nothing waiting
    for queued in taken[::2]:
        await network.write(network.ended("expired", (queued.number,), (queued.journey,)))
    for queued in taken[1::2]:
        await network.write(network.error_response(queued.journey, queued.number))
    live = await tables(postgres_database)
    assert [len(rows) for rows in live] == [8, 2]  # of each journey its end and the answer there; two error responses
    await rebuild_desk(node.journal)
    assert await tables(postgres_database) == live
    for queued in taken:
        assert isinstance(await network.pass_on(queued), Conflict)
        assert isinstance(await network.write(network.acknowledged((), (queued.journey,))), Conflict)


@pytest.mark.req("D7")
async def test_rounds_are_known_after_the_tables_were_rebuilt(nodes: Nodes, postgres_database: str) -> None:
    """Also where message, content and body of what was resent lie, in groups of several entries."""
    node, network = await nodes.start()
    await asyncio.gather(*(network.post(network.message(via=CARRIER), f"body {n}".encode()) for n in range(5)))
    first, second, *others = await network.poll(CARRIER)
    passed = await asyncio.gather(*(network.pass_on(one, f"carried {one.number}".encode()) for one in others))
    dead = [first, second, *await network.poll()]
    contents = [0, 0, *(outcome.seq for outcome in passed if isinstance(outcome, Committed))]
    for one in dead:
        await network.write(network.ended("failed", (one.number,), (one.journey,)))
    again = [network.resent(one, seq) for one, seq in zip(dead, contents, strict=True)]
    await asyncio.gather(*(network.write(entry) for entry in again))
    await network.write(network.dropped(first.number))  # too late
    live = await tables(postgres_database)
    await rebuild_desk(node.journal)
    assert await tables(postgres_database) == live
    bodies = [await node.desk.body(one) for one in [*await network.poll(CARRIER), *await network.poll()]]
    assert sorted(map(str, bodies)) == sorted([str(await node.desk.body(one)) for one in dead])


@pytest.mark.req("D7")
async def test_two_nodes_that_resend_one_letter_begin_one_round(two_nodes: tuple[DeskHarness, DeskHarness]) -> None:
    here, there = two_nodes
    for _ in range(10):
        await here.post(here.message())
    for dead in await here.poll():
        await here.write(here.ended("failed", (dead.number,), (dead.journey,)))
        outcomes = await asyncio.gather(*(network.write(network.resent(dead)) for network in two_nodes))
        assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Committed", "Conflict"]
    assert len(await there.poll()) == 10


async def test_the_journal_of_a_desk_is_the_same_whoever_reads_it(nodes: Nodes) -> None:
    node, network = await nodes.start()
    posts = list(make_plain_posts(50))
    seqs = await asyncio.gather(*(network.post(post, post.session.encode()) for post in posts))
    batch = await node.journal.read(0)
    assert [record.seq for record in batch.records] == sorted(seqs)
    bodies = [await node.journal.body(record.body) for record in batch.records if record.body]
    assert sorted(body or b"" for body in bodies) == sorted(post.session.encode() for post in posts)


async def test_a_hand_out_that_cannot_be_recorded_is_given_up_at_once(nodes: Nodes, postgres_database: str) -> None:
    _, network = await nodes.start()
    await network.post(network.message())
    async with connected(postgres_database) as connection:
        await connection.execute("ALTER FUNCTION journal_append RENAME TO journal_append_away")
        with pytest.raises(Unavailable):
            await network.poll(lease_s=1000)
        await connection.execute("ALTER FUNCTION journal_append_away RENAME TO journal_append")
    assert [queued.attempt for queued in await network.poll()] == [1]


async def test_a_node_that_stood_still_longer_than_its_lease_hands_nothing_out(
    two_nodes: tuple[DeskHarness, DeskHarness], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = two_nodes
    await here.post(here.message())
    claims = here.desk._claims  # type: ignore[attr-defined]
    reserve: Callable[..., Awaitable[list[Queued]]] = claims._reserve
    elsewhere: list[Queued] = []

    async def stand_still(*arguments: Any) -> list[Queued]:
        reserved = await reserve(*arguments)
        if elsewhere:  # it looked again because the notification of the post came late
            return reserved
        here.clock.advance(LEASE_S + 1)
        elsewhere.extend(await there.poll())
        return reserved

    monkeypatch.setattr(claims, "_reserve", stand_still)
    assert await here.poll() == []
    [queued] = elsewhere
    assert queued.attempt == 1
    assert await there.poll() == []  # it is still in the hands of who polled there


async def test_a_search_takes_a_bounded_time_also_when_little_of_a_long_queue_matches(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, network = await nodes.start()
    monkeypatch.setattr(shared_claims, "PAGE_ROWS", 1)
    topics = ["bills" if number % 4 == 3 else "orders" for number in range(40)]
    bills = [
        number << 16
        for topic in topics
        if (number := await network.post(network.message(topic=topic))) and topic == "bills"
    ]
    claims = network.desk._claims  # type: ignore[attr-defined]
    fetch = claims._connections.fetch

    async def slowly(sql: str, *parameters: Any) -> list[Any]:
        if sql == SQL["candidates"]:
            nodes.clock.advance(SEARCH_S / 10)
        return list(await fetch(sql, *parameters))

    monkeypatch.setattr(claims, "_connections", SimpleNamespace(fetch=slowly))
    found: list[int] = []
    selector = Selector(topic="bills")
    while not found or network.desk.is_searching(SELLER, selector):
        began = nodes.clock.monotonic()
        found += delivery_numbers(await network.poll(selector=selector))
        assert nodes.clock.monotonic() - began < 1.2 * SEARCH_S
    assert found == bills


async def test_what_cannot_be_said_of_one_step_leaves_the_others_as_they_are(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    node, network = await nodes.start()
    first = network.message(handle="once")
    await network.post(first)

    async def away(*_: object) -> JournalBatch:
        raise Unavailable("network.unavailable", "away")

    monkeypatch.setattr(node.journal, "read", away)
    again = network.message(handle="once")
    steps = [JournalStep(again, b"", tuple(unique_keys(again))), JournalStep(network.message(), b"")]
    told = await asyncio.gather(*[network.submit(step) for step in steps])
    assert isinstance(told[0], Unavailable)
    assert isinstance(told[1], Committed)


@pytest.mark.parametrize("word", ["40P01", "58030", "28P01"])
async def test_whatever_the_database_fails_to_do_is_told_as_unavailable(nodes: Nodes, word: str) -> None:
    node, _ = await nodes.start()
    failing = f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{word}'; END $$"
    with pytest.raises(Unavailable, match=r"network\.unavailable"):
        await node.journal.connections.fetch(failing)


async def test_what_is_settled_between_reservation_and_record_is_not_handed_out(
    nodes: Nodes, postgres_database: str
) -> None:
    node, network = await nodes.start()
    for _ in range(3):
        await network.post(network.message())
    first = delivery_numbers(await network.poll())
    nodes.clock.advance(LEASE_S + 1)
    async with stalled(postgres_database):
        acknowledging = asyncio.ensure_future(network.acknowledge(first[0]))
        await until_somebody_waits_for_a_lock(postgres_database)  # the next group will record the hand-out
        polling = asyncio.ensure_future(network.poll())
        group = node.desk._group
        await eventually_async(lambda: group._waiting or group._first)  # the record of the hand-out waits behind it
        assert not polling.done()
    assert isinstance(await acknowledging, Committed)
    assert delivery_numbers(await polling) == first[1:]


@pytest.mark.req("B5")
async def test_batches_are_known_after_the_tables_were_rebuilt(nodes: Nodes, postgres_database: str) -> None:
    node, network = await nodes.start()
    for _ in range(6):
        await network.post(network.message())
    claimed = delivery_numbers(await network.poll())
    await network.write(network.gathered(network.batch("b"), *claimed[:4]))
    await network.write(network.acknowledged((claimed[0],), batch=network.batch("b", 2)))
    await network.give_back(claimed[1], claimed[4])  # the first of them too late
    live = await tables(postgres_database)
    assert [len(rows) for rows in live] == [2, 5]
    await rebuild_desk(node.journal)
    assert await tables(postgres_database) == live
    nodes.clock.advance(LEASE_S + 1)
    assert delivery_numbers(await network.poll()) == claimed[4:]
    assert isinstance(await network.write(network.gathered(network.batch("b", 2))), Conflict)


@pytest.mark.req("B5", "O3")
async def test_what_another_node_gathers_between_reservation_and_record_is_not_handed_out(
    nodes: Nodes, postgres_database: str
) -> None:
    """As when a node takes over the batchers of one that was too slow, and not dead."""
    (_, here), (_, there) = await nodes.start(), await nodes.start()
    for _ in range(3):
        await here.post(here.message())
    first = delivery_numbers(await here.poll())
    nodes.clock.advance(LEASE_S + 1)
    async with stalled(postgres_database):
        gathering = asyncio.ensure_future(here.write(here.gathered(here.batch("b"), *first[:2])))
        await kept_waiting(postgres_database, 1)  # for the lock, which it gets first
        polling = asyncio.ensure_future(there.poll())
        await kept_waiting(postgres_database, 2)
        assert not polling.done()
    assert isinstance(await gathering, Committed)
    assert delivery_numbers(await polling) == first[2:]
    assert await there.write(there.gathered(there.batch("c"), *first[1:])) == Conflict(0, 0, "")
    nodes.clock.advance(LEASE_S + 1)
    assert delivery_numbers(await there.poll()) == first[2:]


async def test_who_looks_for_something_to_hand_out_does_not_pass_by_batches(
    nodes: Nodes, postgres_database: str
) -> None:
    await nodes.start()
    async with connected(postgres_database) as connection:
        await connection.execute("SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan")
        for name, parameters in (("reserve", 7), ("candidates", 5), ("next_due", 2)):
            await connection.execute(f"PREPARE looking AS {SQL[name]}")
            plan = await connection.fetch(f"EXPLAIN EXECUTE looking ({', '.join(['NULL'] * parameters)})")
            await connection.execute("DEALLOCATE looking")
            assert "desk_queue_free" in "\n".join(row[0] for row in plan), name


@pytest.mark.req("O3")
async def test_what_waits_at_a_desk_of_before_batches_goes_on_waiting_and_its_nodes_go_on_writing(
    nodes: Nodes, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = await PostgresJournal.open(postgres_database)
    as_it_was = f"SELECT * FROM desk_commit({', '.join(f'${number}' for number in range(1, 41))})"
    old, newer = ([JournalStep(replace(post, expires_at_us=0), b"hello")] for post in make_plain_posts(2, services=1))
    with monkeypatch.context() as before:
        steps = postgres_schema.migrations(PACKAGE)
        before.setattr(postgres_schema, "migrations", lambda package: steps[:2])
        async with journal.connections.use() as connection:
            await postgres_schema.migrate(connection, "desk", PACKAGE)
            await connection.fetch(as_it_was, *GroupPlan(old, {}, ()).parameters()[:40])
    _, network = await nodes.start()
    [waiting] = await network.poll(mailbox := f"{0:016x}")
    assert isinstance(await network.write(network.gathered(network.batch("b"), waiting.number)), Committed)
    async with journal.connections.use() as connection:
        await connection.fetch(as_it_was, *GroupPlan(newer, {}, ()).parameters()[:40])
    await journal.close()
    nodes.clock.advance(LEASE_S + 1)
    assert [queued.message for queued in await network.poll(mailbox)] == [newer[0].entry]
