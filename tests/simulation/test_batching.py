"""Weeks of a send port in virtual time: batchers sleep as long as nothing is due, and are there when it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.adapters.system import SystemRandomness
from postroad.core.interchange import x12
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.model.asset import Hosting
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, Service
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.batching.stage import BatchStage
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.testing.contracts.desk.desk_under_test import catch_up_index
from postroad.testing.simulation.virtual_time import VirtualClock, virtual_loop

HOUR_S = 3_600
NEW_YORK = ZoneInfo("America/New_York")
EVERY_WORKING_EVENING = Batching(
    sends_to="MyBiz/edi",
    standard="x12",
    sender="MYBIZ",
    receiver="ACME",
    envelope=(("version", "00401"),),
    policy=BatchPolicy(cron=("0 18 * * 1-5",)),
)

SALES = Service(gcid="a" * 16, organization="MyBiz", name="Sales")
PARTNER = Service(gcid="b" * 16, organization="MyBiz", name="edi")
PORT = Service(
    gcid="c" * 16,
    organization="MyBiz",
    name="orders",
    hosted=Hosting.BATCHER,
    batching=EVERY_WORKING_EVENING,
    time_zone="America/New_York",
)


def order(number: int) -> bytes:
    return f"ST*850*{number:04}~BEG*00*NE*{number}**20260105~SE*3*{number:04}~".encode()


@asynccontextmanager
async def network_in_time(clock: VirtualClock) -> AsyncIterator[Network]:
    """A network whose index catches up when it is asked, and never by the clock."""
    journal, index = MemoryJournal(), MemoryIndex()

    async def catch_up(seq: int = 0) -> None:
        await catch_up_index(journal, index)

    desk = LocalDesk(journal, index, clock, wait_for_entry=catch_up)
    await desk.open()
    network = Network(
        desk=desk,
        journal=journal,
        index=index,
        clock=clock,
        randomness=SystemRandomness(),
        token_key=b"only for tests, never in service",
        wait_until_indexed=catch_up,
    )
    yield network
    await desk.close()


async def two_weeks(clock: VirtualClock) -> tuple[list[tuple[datetime, int]], list[str]]:
    """An order an hour; what the partner is given, when and how much, and what became of batches."""
    async with network_in_time(clock) as network:
        changes = [build_save(one) for one in (Organization(name="MyBiz"), SALES, PARTNER, PORT)]
        await network.configuration.change("test", changes)
        stage = BatchStage(network)
        stage.start()
        given: list[tuple[datetime, int]] = []
        taking = asyncio.get_running_loop().create_task(take(network, given))
        for number in range(1, 24 * 14 + 1):
            part = Part(id="1", content_type="application/edi-x12", data=order(number))
            await network.post(Caller(service=SALES), Message(to=(Recipient("MyBiz/orders"),), parts=(part,)))
            await asyncio.sleep(HOUR_S)
        taking.cancel()
        await asyncio.gather(taking, return_exceptions=True)
        await stage.close()
        await network.wait_until_indexed()
        return given, [row[2] for row in await network.index.query("all_batches", "~", 100)]


async def take(network: Network, given: list[tuple[datetime, int]]) -> None:
    partner = Caller(service=PARTNER)
    while True:
        await network.desk.arrival(PARTNER.gcid, 24 * HOUR_S)
        for one in await network.poll(partner, PollRequest()):
            found = x12.split(one.parts[0].data, OnEnvelopeError.REFUSE)
            at = datetime.fromtimestamp(network.clock.now_us() / 1_000_000, UTC).astimezone(NEW_YORK)
            given.append((at, len(found.members)))
            await network.settle(partner, Settlement(tokens=(one.token,)))


@pytest.mark.req("B1", "B2")
def test_every_working_evening_all_orders_of_the_day_go_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for pause in ("IDLE_S", "RECHECK_S"):  # what is due must not depend on somebody looking now and then
        monkeypatch.setattr(f"postroad.flow.batching.stage.{pause}", 24.0 * HOUR_S)
    loop = virtual_loop(None)
    given, states = loop.run_until_complete(two_weeks(VirtualClock(loop)))
    assert [(at.weekday() < 5, at.hour, at.minute, at.second) for at, _ in given] == [(True, 18, 0, 0)] * len(given)
    days = [at.date() for at, _ in given]
    assert len(days) == len(set(days)) == 10
    assert sorted({count for _, count in given[1:]}) == [24, 72]  # a day, and a weekend with its Friday evening
    assert sorted(states) == [BatchState.OPEN] + [BatchState.SENT] * 10
