"""What the tests of pushes work with: the real stages in memory, in virtual time, with receivers that are played."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.adapters.passwords import Argon2Passwords
from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.directory import (
    AuthenticationLevel,
    DeliveryMode,
    Push,
    PushAuthentication,
    Service,
    Visibility,
)
from postroad.core.model.journal import Entry, decode
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.errors import Misconfigured
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.network import Network
from postroad.flow.push.slots import PushCapacity
from postroad.flow.push.stage import PushStage
from postroad.testing.network import CHEAP, MemoryNetwork
from postroad.testing.simulation.network import SimulatedIndexKeeper
from postroad.testing.simulation.virtual_time import SeededRandomness, VirtualClock, random_for, virtual_loop

BUYER = "MyBiz/Purchasing"
OK = PushAnswer(status=200)
BUSY = PushAnswer(status=503)
SECRET = "whsec_" + "c2VjcmV0" * 6
Answering = Callable[[PushRequest], Awaitable[PushAnswer]]


class Seen(NamedTuple):
    """A push as its receiver saw it, and when."""

    at_us: int
    request: PushRequest


@dataclass
class PlayedReceivers:
    """Receivers by URL: each answers as it was told, and with 200 when it was told nothing."""

    clock: VirtualClock
    answers: dict[str, Answering] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)

    async def push(self, request: PushRequest) -> PushAnswer:
        self.seen.append(Seen(self.clock.now_us(), request))
        answering = self.answers.get(request.url)
        return OK if answering is None else await answering(request)

    async def close(self) -> None: ...

    def answer(self, url: str, *answers: PushAnswer) -> None:
        """Have the receiver give these answers one after the other, and the last one indefinitely."""
        left = list(answers)

        async def next_one(_: PushRequest) -> PushAnswer:
            return left.pop(0) if len(left) > 1 else left[0]

        self.answers[url] = next_one

    def hang(self, url: str) -> None:
        """Have the receiver say nothing until the push's time is over."""

        async def nothing(request: PushRequest) -> PushAnswer:
            await asyncio.sleep(request.timeout_s)  # sleeps: in virtual time
            return PushAnswer(status=None, fault=make_reason("other", detail="no answer in time"))

        self.answers[url] = nothing

    def at(self, url: str) -> list[Seen]:
        return [one for one in self.seen if one.request.url == url]


class KeptSecrets:
    def __init__(self) -> None:
        self.secrets = {"env:SECRET": SECRET, "file:client.pem": "pem"}

    def secret(self, service: Service, reference: str) -> str:
        if reference not in self.secrets:
            raise Misconfigured([f"{reference}: there is no such secret"])
        return self.secrets[reference]

    def file(self, service: Service, reference: str) -> str:
        return f"/kept/{self.secret(service, reference)}"


@dataclass
class Bench:
    running: MemoryNetwork
    clock: VirtualClock
    receivers: PlayedReceivers
    secrets: KeptSecrets
    buyer: Caller

    async def pushed_to(self, address: str, **profile: Any) -> Caller:
        """A service that is pushed to, at a URL made of its address."""
        wishes: dict[str, Any] = {"authentication": PushAuthentication.NONE} | profile.pop("push", {})
        return await self.running.register(
            address,
            visibility=Visibility.PUBLIC,
            delivery=DeliveryMode.PUSH,
            push=Push(url=url_of(address), **wishes),
            **profile,
        )

    async def post(self, *to: str, type_: MessageType = MessageType.NOTIFICATION, **more: Any) -> str:
        part = Part(id="1", content_type="text/plain", data=b"hello")
        recipients = tuple(Recipient(name) for name in to)
        message = Message(to=recipients, type=type_, parts=(part,), **more)
        return (await self.running.network.post(self.buyer, message)).session

    async def entries(self) -> list[Entry]:
        return [decode(record.facts) for record in (await self.running.network.journal.read(0, 1 << 30)).records]

    async def events(self, session: str) -> list[str]:
        """What happened to the first copy at its last stop, in a word each."""
        history = await self.running.network.trace(session, None)
        assert history is not None
        return [event.what for event in history.messages[0].copies[0].stops[-1].events]

    async def state(self, session: str) -> str:
        history = await self.running.network.trace(session, None)
        assert history is not None
        return history.messages[0].copies[0].stops[-1].state


def url_of(address: str) -> str:
    return f"https://{address.lower().replace('/', '.')}.example/"


@dataclass
class Stores:
    """What outlives a network, and how many there have been."""

    journal: MemoryJournal = field(default_factory=MemoryJournal)
    index: MemoryIndex = field(default_factory=MemoryIndex)
    lives: int = 0


@asynccontextmanager
async def virtual_network(clock: VirtualClock, stores: Stores) -> AsyncIterator[MemoryNetwork]:
    """A network in memory whose index is kept without looking again for no reason, so that days pass quickly."""
    journal, index = stores.journal, stores.index
    stores.lives += 1
    keeper = SimulatedIndexKeeper(journal, index)
    following = asyncio.get_running_loop().create_task(keeper.run())
    desk = LocalDesk(journal, index, clock, indexed=keeper.wait_for, on_committed=keeper.notify)
    await desk.open()

    async def indexed() -> None:
        await keeper.wait_for((await journal.head()).seq)

    network = Network(
        desk=desk,
        journal=journal,
        index=index,
        clock=clock,
        randomness=SeededRandomness(random_for(stores.lives, "pushes")),
        token_key=b"only for tests, never in service",
        indexed=indexed,
    )
    await network.configuration.load()
    passwords = Argon2Passwords(**CHEAP)
    expiring = asyncio.get_running_loop().create_task(network.expiry.run())
    authenticator = Authenticator(network.configuration.directory, passwords, clock)
    yield MemoryNetwork(network=network, authenticator=authenticator, passwords=passwords)
    expiring.cancel()
    await desk.close()
    await indexed()
    following.cancel()


@asynccontextmanager
async def bench(clock: VirtualClock, stores: Stores, lanes: PushCapacity | None = None) -> AsyncIterator[Bench]:
    async with virtual_network(clock, stores) as running:
        receivers, secrets = PlayedReceivers(clock), KeptSecrets()
        stage = PushStage(running.network, receivers, secrets, lanes=lanes)
        stage.start()
        yield Bench(running, clock, receivers, secrets, await _buyer(running))
        await stage.close()


async def _buyer(running: MemoryNetwork) -> Caller:
    known = running.network.directory.service(BUYER)
    if known is None:
        return await running.register(BUYER)
    return Caller(service=known, level=AuthenticationLevel.KEY)


Work = Callable[[Bench], Coroutine[Any, Any, None]]


def in_virtual_time(*lives: Work, lanes: PushCapacity | None = None) -> None:
    """Run a test in a time in which nobody waits; between one life and the next the network is started again."""
    loop, stores = virtual_loop(), Stores()

    async def run() -> None:
        for work in lives:
            async with bench(VirtualClock(loop), stores, lanes) as at:
                await work(at)

    loop.run_until_complete(run())
    assert loop.failures == []
