"""A scenario with a send port, on a clock that tests move."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from postroad.core.model.asset import Hosting
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Visibility
from postroad.core.model.message import Delivered, MessageType, PostResult, Property
from postroad.flow.batching.send_port import SendPortWorker
from postroad.ports import Journal
from postroad.testing import Scenario, make_part
from postroad.testing.clocks import ManualClock
from postroad.testing.network import MemoryStorage
from postroad.testing.scenario import Who

SENDER, PORT, PARTNER = "MyBiz/Sales", "Acme/orders", "Acme/edi"
X12: dict[str, Any] = {
    "sends_to": PARTNER,
    "standard": "x12",
    "sender": "MYBIZ",
    "receiver": "ACME",
    "envelope": (("version", "00401"),),
}
LINES = {"sends_to": PARTNER, "standard": "json_lines", "sender": "MYBIZ", "receiver": "ACME"}


def order(number: int | str) -> bytes:
    return f"ST*850*{number:>04}~BEG*00*NE*{number}**20260105~SE*3*{number:>04}~".encode()


class SendPortScenario(Scenario):
    """MyBiz/Sales posts to the send port Acme/orders, which sends to Acme/edi."""

    clock: ManualClock
    port: SendPortWorker

    def __init__(self, clock: ManualClock, journal: Journal | None = None) -> None:
        storage = MemoryStorage() if journal is None else MemoryStorage(journal=journal)
        super().__init__(clock=clock, storage=storage, pushes=False)

    async def open(self) -> None:
        await super().open()
        if (service := self.network.directory.service(PORT)) is not None:
            self.port = SendPortWorker(self.network, service.gcid)

    async def set_up(self, policy: BatchPolicy, **batching: Any) -> None:
        await self.service(SENDER, visibility=Visibility.PRIVATE)
        await self.service(PARTNER, accepts_from=())
        port = Batching(**{**X12, **batching}, policy=policy)
        caller = await self.service(PORT, hosted=Hosting.BATCHER, batching=port)
        self.port = SendPortWorker(self.network, caller.name)

    async def send(
        self, data: bytes, *, type: MessageType = MessageType.NOTIFICATION, to: str = PORT, **header: Any
    ) -> PostResult:
        """Post a document as MyBiz."""
        properties = tuple(Property(name, value) for name, value in header.pop("properties", {}).items())
        parts = (make_part(data, content_type="application/edi-x12"),)
        return await self.post(SENDER, to, type=type, parts=parts, properties=properties, **header)

    async def post_orders(self, first: int, last: int) -> list[PostResult]:
        return [await self.send(order(number)) for number in range(first, last + 1)]

    async def poll(self, service: Who = PARTNER, **request: Any) -> list[Delivered]:
        return await super().poll(service, **request)

    async def work(self, seconds: float = 0.0) -> None:
        """Let time pass, then let the batcher work."""
        self.clock.advance(seconds)
        await self.port.work()

    async def batches(self) -> list[Batch]:
        await self.network.wait_until_indexed()
        rows = await self.network.index.query("batches_at", self.gcid(PORT), "~", 1_000)
        found = [await self.network.batches.find(row[0]) for row in reversed(rows)]
        return [batch for batch in found if batch is not None]

    async def batch_states(self) -> list[BatchState]:
        return [batch.state for batch in await self.batches()]

    async def delivery_states(self, *posted: PostResult) -> list[DeliveryState]:
        """Return the states of the deliveries to the send port."""
        await self.network.wait_until_indexed()
        found = []
        for one in posted:
            [row] = await self.network.index.query("message", one.session)
            there = await self.network.desk.find(row[0] << 16)
            assert there is not None
            found.append(there.state)
        return found


@asynccontextmanager
async def send_port(policy: BatchPolicy, **batching: Any) -> AsyncIterator[SendPortScenario]:
    async with SendPortScenario(ManualClock()) as scenario:
        await scenario.set_up(policy, **batching)
        yield scenario
