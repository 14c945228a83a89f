"""A network with a send port on a clock that tests move; what is not in its journal can be taken away from it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.index.followed_index import FollowedIndex
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.adapters.passwords import Argon2Passwords
from postroad.adapters.system import SystemRandomness
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.asset import Hosting
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Service
from postroad.core.model.journal import Entry, decode
from postroad.core.model.message import Delivered, Message, MessageType, Part, PostResult, Property, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.batching.send_port import SendPortWorker
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.testing.clocks import ManualClock
from postroad.testing.network import CHEAP, MemoryNetwork

X12: dict[str, Any] = {
    "sends_to": "Acme/edi",
    "standard": "x12",
    "sender": "MYBIZ",
    "receiver": "ACME",
    "envelope": (("version", "00401"),),
}
LINES = {"sends_to": "Acme/edi", "standard": "json_lines", "sender": "MYBIZ", "receiver": "ACME"}


def order(number: int | str) -> bytes:
    return f"ST*850*{number:>04}~BEG*00*NE*{number}**20260105~SE*3*{number:>04}~".encode()


class Bench:
    """MyBiz/Sales posts to the send port Acme/orders, which sends to Acme/edi."""

    def __init__(self, journal: MemoryJournal, clock: ManualClock) -> None:
        self.journal, self.clock = journal, clock
        self.running: MemoryNetwork
        self.port: SendPortWorker
        self._close: Any = None

    @property
    def network(self) -> Network:
        return self.running.network

    async def open(self) -> None:
        """A process over what the journal has."""
        index = MemoryIndex()
        keeper = FollowedIndex(self.journal, index)
        await keeper.start()
        await keeper.wait_for((await self.journal.head()).seq)
        desk = LocalDesk(self.journal, index, self.clock, indexed=keeper.wait_for, on_committed=keeper.notify)
        await desk.open()

        async def indexed() -> None:
            await keeper.wait_for((await self.journal.head()).seq)

        network = Network(
            desk=desk,
            journal=self.journal,
            index=index,
            clock=self.clock,
            randomness=SystemRandomness(),
            token_key=b"only for tests, never in service",
            indexed=indexed,
        )
        await network.configuration.load()
        passwords = Argon2Passwords(**CHEAP)
        authenticator = Authenticator(network.configuration.directory, passwords, self.clock)
        self.running = MemoryNetwork(network=network, authenticator=authenticator, passwords=passwords)
        self._close = desk, keeper, passwords
        if (service := network.directory.service("Acme/orders")) is not None:
            self.port = SendPortWorker(network, service.gcid)

    async def close(self) -> None:
        desk, keeper, passwords = self._close
        await desk.close()
        await keeper.stop()
        passwords.close()

    async def crash(self) -> None:
        """Everything but the journal is lost."""
        await self.close()
        await self.open()

    async def set_up(self, policy: BatchPolicy, **batching: Any) -> None:
        await self.running.register("MyBiz/Sales")
        await self.running.register("Acme/edi", accepts_from=(), visibility="public")
        port = Batching(**{**X12, **batching}, policy=policy)
        caller = await self.running.register("Acme/orders", hosted=Hosting.BATCHER, batching=port, visibility="public")
        self.port = SendPortWorker(self.network, caller.name)

    async def change(self, address: str, **changes: Any) -> None:
        service = self.service(address)
        await self.network.configuration.change("test", [build_save(replace(service, **changes))])

    def service(self, address: str) -> Service:
        found = self.network.directory.service(address)
        assert found is not None, address
        return found

    def caller(self, address: str) -> Caller:
        return Caller(service=self.service(address))

    async def post(
        self, data: bytes, *, kind: MessageType = MessageType.NOTIFICATION, to: str = "Acme/orders", **header: Any
    ) -> PostResult:
        properties = tuple(Property(name, value) for name, value in header.pop("properties", {}).items())
        message = Message(
            to=(Recipient(to),),
            type=kind,
            properties=properties,
            parts=(Part(id="1", content_type="application/edi-x12", data=data),),
            **header,
        )
        return await self.network.post(self.caller("MyBiz/Sales"), message, size=len(data))

    async def post_orders(self, first: int, last: int) -> list[PostResult]:
        return [await self.post(order(number)) for number in range(first, last + 1)]

    async def poll(self, address: str = "Acme/edi") -> list[Delivered]:
        return await self.network.poll(self.caller(address), PollRequest(max=100))

    async def fail(self, delivered: Delivered, reason: str = "no good") -> None:
        await self.network.fail(delivered, make_reason("other", detail=reason))

    async def work(self, seconds: float = 0.0) -> None:
        """Let time go by, and the batcher look around."""
        self.clock.advance(seconds)
        await self.port.work()

    async def acknowledge(self, delivered: Delivered) -> None:
        caller = self.caller(delivered.recipient)
        await self.network.settle(caller, Settlement(tokens=(delivered.token,)))

    async def batches(self) -> list[Batch]:
        await self.network.indexed()
        rows = await self.network.index.query("batches_at", self.service("Acme/orders").gcid, "~", 1_000)
        found = [await self.network.batches.find(row[0]) for row in reversed(rows)]
        return [batch for batch in found if batch is not None]

    async def states(self) -> list[BatchState]:
        return [batch.state for batch in await self.batches()]

    async def states_of(self, *posted: PostResult) -> list[DeliveryState]:
        """What became of the deliveries to the send port."""
        await self.network.indexed()
        found = []
        for one in posted:
            [row] = await self.network.index.query("message", one.session)
            there = await self.network.desk.find(row[0] << 16)
            assert there is not None
            found.append(there.state)
        return found

    async def entries(self) -> list[Entry]:
        found: list[Entry] = []
        after = 0
        while records := (await self.journal.read(after)).records:
            found += [decode(record.facts) for record in records]
            after = records[-1].seq
        return found


@asynccontextmanager
async def bench(policy: BatchPolicy, **batching: Any) -> AsyncIterator[Bench]:
    made = Bench(MemoryJournal(), ManualClock())
    await made.open()
    try:
        await made.set_up(policy, **batching)
        yield made
    finally:
        await made.close()
