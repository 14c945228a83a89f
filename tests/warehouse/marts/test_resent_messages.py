"""Dead letters that are resent, in the warehouse: the copy's history goes on, and ends as its last round does."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.history import History
from postroad.core.model.journal import DeliveryResent, decode
from postroad.core.model.message import Delivered, Message, MessageType, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.ports import NewRecord
from postroad.testing.network import MemoryNetwork, memory_network
from postroad.warehouse.marts.message_histories import message_histories
from postroad.warehouse.marts.transactions import transactions
from postroad.warehouse.staging.days import touched_days
from tests.warehouse.conftest import landed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Shop:
    """A buyer and a seller whose server fails before it is mended."""

    def __init__(self, running: MemoryNetwork) -> None:
        self.network = running.network

    async def ask(self, buyer: Caller, kind: MessageType) -> str:
        message = Message(to=(Recipient("Acme/Supply"),), type=kind)
        return (await self.network.post(buyer, message)).session

    async def given(self, receiver: Caller) -> Delivered:
        [delivered] = await self.network.poll(receiver, PollRequest(max=1))
        return delivered

    async def fail(self, seller: Caller) -> int:
        number = self.network.tokens.number((await self.given(seller)).token) or 0
        found = await self.network.desk.find(number)
        assert found is not None
        await self.network.ending.give_up(found.queued, "failed", make_reason("push.server-error", status=503))
        return number

    async def resend(self, number: int) -> None:
        await self.network.wait_until_indexed()
        letter = await self.network.dead_letters.find(self.network.index, number)
        assert letter is not None
        await self.network.dead_letters.resend(letter, "p@acme.example", "mended")


async def _played() -> tuple[list[NewRecord], dict[str, History]]:
    """One request that fails, is resent, fails again, is resent and answered; one that is resent and under way."""
    async with memory_network() as running:
        buyer = await running.register("MyBiz/Purchasing")
        seller = await running.register("Acme/Supply", visibility=Visibility.PUBLIC)
        shop = Shop(running)
        sessions = [await shop.ask(buyer, MessageType.REQUEST)]
        for _ in range(2):
            await shop.resend(await shop.fail(seller))
        again = await shop.given(seller)
        await shop.network.post(seller, Message(type=MessageType.RESPONSE, reference=again.token))
        for _ in range(3):  # two errors that the network told, and the response
            told = await shop.given(buyer)
            await shop.network.settle(buyer, Settlement(tokens=(told.token,)))
        sessions.append(await shop.ask(buyer, MessageType.REQUEST))
        await shop.resend(await shop.fail(seller))
        histories = {session: await shop.network.trace(session, None) for session in sessions}
        batch = await shop.network.journal.read(0, 1 << 20)
        records = [NewRecord(record.facts, None) for record in batch.records]
        return records, {session: history for session, history in histories.items() if history is not None}


@pytest.mark.req("P2", "D7")
def test_a_copy_that_was_resent_ends_as_its_last_round_does(spark: SparkSession) -> None:
    records, told = asyncio.run(_played())
    log = landed(spark, records)
    found = message_histories(log)
    rows = {(row["session"], row["copy"]): row for row in found.collect()}
    expected = {"delivered": 3, "under way": 2}  # by state, the number of stops: one for each round
    for session, history in told.items():
        [copy] = history.messages[0].copies
        row = rows[session, 0]
        assert row["state"] == copy.state
        assert [stop["state"] for stop in row["stops"]] == [stop.state for stop in copy.stops]
        assert len(row["stops"]) == expected.pop(row["state"])
        assert (row["ended_at_us"] is None) == (row["state"] == "under way")
    statuses = {row["transaction"]: row["status"] for row in transactions(found).collect()}
    assert [statuses[session] for session in told] == ["answered", "under way"]


@pytest.mark.req("P1", "D7")
def test_a_round_that_is_landed_later_touches_the_day_of_its_message(spark: SparkSession) -> None:
    """What happens in it bears numbers of its own, which the histories from before do not know."""
    records, _ = asyncio.run(_played())
    entries = enumerate(decode(one.facts) for one in records)
    place, session = next((place, entry.session) for place, entry in entries if isinstance(entry, DeliveryResent))
    before = landed(spark, records[:place])
    touched = touched_days(landed(spark, records[place : place + 1], place + 1), before, message_histories(before))
    day = datetime.fromtimestamp(int(session[:12], 16) / 1_000, UTC).date()
    assert touched.messages == {day}
    assert touched.transactions == {day}
