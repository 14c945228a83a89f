"""PostgreSQL dies at once under load and comes back: nothing answered is lost, nothing acknowledged returns."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator, Iterator

import pytest

from postroad.adapters.desk.shared import SharedDesk
from postroad.adapters.desk.shared_rebuild import rebuild_desk
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_verification import verify
from postroad.adapters.journal.segments.verification import JournalDefect
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.system import SystemClock
from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import MessagePosted, decode
from postroad.core.model.selector import EVERYTHING
from postroad.core.projection.unique_keys import unique_keys
from postroad.errors import Unavailable
from postroad.ports import Committed, Conflict, JournalStep
from postroad.testing.clocks import ManualClock
from postroad.testing.contracts.desk.desk_under_test import SELLER, DeskHarness, catch_up_index, delivery_numbers
from postroad.testing.postgres import PostgresServer
from tests.waiting import eventually_async

ROUNDS = int(os.environ.get("POSTROAD_FAULT_ROUNDS_POSTGRES", "4"))
POSTERS = 12
LEASE_S = 0.3


class Load:
    """Posters, pollers and what they were told; a step without an answer is tried again with the same handle."""

    def __init__(self, desk: SharedDesk) -> None:
        self.network = DeskHarness(desk, ManualClock())
        self.clock = SystemClock()
        self.desk = desk
        self.accepted: dict[str, int] = {}  # handle: number of the entry that was answered
        self.handed_out: set[int] = set()
        self.acknowledged: set[int] = set()
        self.returned: list[int] = []  # handed out after the acknowledgement had been answered
        self.refused = 0
        self.stopping = False

    async def post(self, poster: int, round_number: int) -> None:
        for number in range(1_000_000):
            if self.stopping:
                return
            await self._post_until_answered(f"{round_number}.{poster}.{number}")

    async def _post_until_answered(self, handle: str) -> None:
        message = self.network.message(handle=handle)
        step = JournalStep(message, os.urandom(1500), tuple(unique_keys(message)))
        while not self.stopping:
            outcome = await self.network.submit(step)
            if isinstance(outcome, Committed | Conflict):  # a conflict with ourselves: the first answer was lost
                assert isinstance(outcome, Committed) or outcome.session == message.session
                self.accepted[handle] = outcome.seq
                return
            assert outcome.code == "network.unavailable"
            self.refused += 1
            await asyncio.sleep(0.02)  # sleeps: a client that was refused pauses

    async def accepts(self, more: int) -> None:
        """Wait until so many more were accepted."""
        count = len(self.accepted) + more
        await eventually_async(lambda: len(self.accepted) >= count)

    async def consume(self, most: int = 20) -> int:
        """Poll once and acknowledge; returns how many were taken over for good."""
        before = set(self.acknowledged)
        got = delivery_numbers(await self.desk.claim(SELLER, EVERYTHING, most, LEASE_S))
        self.handed_out.update(got)
        self.returned += [number for number in got if number in before]
        if got and isinstance(await self.network.acknowledge(*got), Committed):
            self.acknowledged.update(got)
        return len(got)

    async def keep_consuming(self) -> None:
        while not self.stopping:
            with contextlib.suppress(Unavailable):
                await self.consume()
            await asyncio.sleep(0.01)  # sleeps: a client between two polls

    async def drain(self) -> None:
        """Take over everything that still waits, leases of the past included."""
        idle = 0
        while idle < 4:
            try:
                idle = idle + 1 if await self.consume(500) == 0 else 0
            except Unavailable:  # the pause after the last failure is not over
                idle = 0
            await asyncio.sleep(LEASE_S / 2 if idle else 0.01)  # sleeps: leases of the past end meanwhile


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
async def journal(server: PostgresServer) -> AsyncIterator[PostgresJournal]:
    journal = await PostgresJournal.open(server.create_database("faults"))
    yield journal
    await journal.close()


async def open_desk(journal: PostgresJournal) -> SharedDesk:
    index = MemoryIndex()

    async def wait_for_entry(seq: int) -> None:
        await catch_up_index(journal, index)

    desk = SharedDesk(journal, index, SystemClock(), wait_for_entry=wait_for_entry, attempts_most=10_000)
    await desk.open()
    return desk


async def test_a_database_stopped_at_once_loses_and_repeats_nothing(
    server: PostgresServer, journal: PostgresJournal
) -> None:
    desk = await open_desk(journal)
    load = Load(desk)
    seed = random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for round_number in range(ROUNDS):
        load.stopping = False
        tasks = [asyncio.ensure_future(load.post(poster, round_number)) for poster in range(POSTERS)]
        tasks += [asyncio.ensure_future(load.keep_consuming()) for _ in range(2)]
        await load.accepts(20)
        await asyncio.sleep(chance.uniform(0.1, 0.7))  # sleeps: the stop comes at a random moment
        await asyncio.to_thread(server.restart, immediate=True)
        await load.accepts(20)
        load.stopping = True
        await asyncio.gather(*tasks)
    await load.drain()
    assert load.refused > 0, "the load never met a stopped database"
    assert len(load.accepted) > 100
    assert load.returned == []
    lost = [seq for seq in load.accepted.values() if delivery_number(seq, 0) not in load.handed_out]
    assert lost == []
    assert [found async for found in verify(journal) if isinstance(found, JournalDefect)] == []
    await handles_are_unique(journal)
    await rebuild_desk(journal)
    assert await desk.claim(SELLER, EVERYTHING, 10, LEASE_S) == []
    await desk.close()


async def handles_are_unique(journal: PostgresJournal) -> None:
    """Whatever was tried again after a lost answer was written once."""
    seen: set[int] = set()
    seq = 0
    while records := (await journal.read(seq)).records:
        for record in records:
            keys = unique_keys(entry) if isinstance(entry := decode(record.facts), MessagePosted) else []
            assert seen.isdisjoint(keys)
            seen.update(keys)
        seq = records[-1].seq


async def first_claim(desk: SharedDesk) -> list[Queued]:
    """What the desk hands out once its pause after the last failure is over."""

    async def claim() -> list[list[Queued]]:
        with contextlib.suppress(Unavailable):
            return [await desk.claim(SELLER, EVERYTHING, 5, 1.0)]
        return []

    [claimed] = await eventually_async(claim, why="the desk did not take up its work")
    return claimed


async def test_while_the_database_is_away_callers_are_told_so_and_work_goes_on_afterwards(
    server: PostgresServer, journal: PostgresJournal
) -> None:
    desk = await open_desk(journal)
    network = DeskHarness(desk, ManualClock())
    first = await network.post(network.message())
    waiting = asyncio.ensure_future(desk.arrival(SELLER, 240))
    await asyncio.to_thread(server.stop, immediate=True)
    outcome = await network.submit(JournalStep(network.message(), b"x"))
    assert isinstance(outcome, Unavailable)
    assert outcome.code == "network.unavailable"
    for attempt in (
        desk.claim(SELLER, EVERYTHING, 1, 1.0),
        desk.find(delivery_number(first, 0)),
        desk.find_first_use(1),
    ):
        with pytest.raises(Unavailable, match=r"network\.unavailable"):
            await attempt
    await asyncio.to_thread(server.start)
    await asyncio.wait_for(waiting, 60)  # whoever waits looks again once the database is back
    assert [queued.message_seq for queued in await first_claim(desk)] == [first]
    assert (await network.state(delivery_number(first, 0))) == DeliveryState.QUEUED
    assert await network.post(network.message()) > first
    await desk.close()
