"""The simulated network: the real stages over storage in memory, as one process that can crash and restart.

Rule: a crash loses everything except the journal, and perhaps the index, which has its own process. A caller that waits
at that moment gets no response, and cannot know the outcome, as with a broken connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.core.model.directory import Service
from postroad.errors import Misconfigured
from postroad.flow.indexing import follow
from postroad.flow.network import Network
from postroad.flow.push.stage import PushStage
from postroad.ports import Index, Journal, JournalHead, Pusher
from postroad.testing.fixed_secrets import FixedSecrets
from postroad.testing.simulation.storage import Disk, SlowIndex, SlowJournal
from postroad.testing.simulation.virtual_time import PROCESS, SeededRandomness, VirtualClock, VirtualLoop

Answer = TypeVar("Answer")
TOKEN_KEY = b"only for simulations"  # the ledger converts tokens to numbers with it
TRAVEL_S = (0.0005, 0.03)
LOST_ONCE_IN = 300  # answers


class ConnectionLost(Exception):
    """No response will arrive; the request may or may not have been carried out."""


class SimulatedIndexKeeper:
    """Follows the journal without idle polling, which would slow down days of virtual time."""

    def __init__(self, journal: Journal, index: Index) -> None:
        self._journal = journal
        self._index = index
        self._arrived = asyncio.Event()
        self._moved = asyncio.Condition()
        self._seq = 0

    async def run(self) -> None:
        await follow(self._journal, self._index, arrived=self._wait, on_progress=self._progress)

    def notify(self, seq: int) -> None:
        self._arrived.set()

    async def wait_for(self, seq: int) -> None:
        async with self._moved:
            await self._moved.wait_for(lambda: self._seq >= seq)

    async def _wait(self) -> None:
        async with self._moved:
            self._moved.notify_all()
        await self._arrived.wait()
        self._arrived.clear()

    def _progress(self, head: JournalHead) -> None:
        self._seq = head.seq


@dataclass(slots=True, eq=False)
class SimulatedProcess:
    """One run of the network, from a start to a crash."""

    disk: Disk
    network: Network
    keeper: SimulatedIndexKeeper
    waiting: dict[asyncio.Future[Any], None] = field(default_factory=dict)  # callers that wait for a response
    alive: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkBuild:
    """The parts of a simulated network; tests replace some by broken ones."""

    desk: Callable[..., LocalDesk] = LocalDesk
    attempts_most: int = 20
    head_most: int = 20_000
    expiry: bool = True  # whether due work is processed
    pusher: Callable[[], Pusher] | None = None  # the connection to the services' own servers, if there are any


class NoSecrets(FixedSecrets):
    """Secrets for simulated servers, which require none."""

    def secret(self, service: Service, reference: str) -> str:
        raise Misconfigured([f"{reference}: there are no secrets in a simulation"])

    def file(self, service: Service, reference: str) -> str:
        raise Misconfigured([f"{reference}: there are no secrets in a simulation"])


class SimulatedNetwork:
    """A network that can crash and restart over its journal."""

    def __init__(self, loop: VirtualLoop, chance: Random, build: NetworkBuild) -> None:
        self._loop = loop
        self._chance = chance
        self._build = build
        self.clock = VirtualClock(loop)
        self.journal = MemoryJournal()
        self.index = MemoryIndex()
        self.starts = 0
        self.outages_us: list[tuple[int, int]] = []  # from a crash until everything runs again
        self._randomness = SeededRandomness(chance)
        self._process: SimulatedProcess | None = None
        self._down_since_us = self.clock.now_us()

    @property
    def network(self) -> Network:
        """Return the running network."""
        if self._process is None:
            raise ConnectionLost
        return self._process.network

    async def start(self) -> None:
        """Start the network over its journal."""
        context = copy_context()
        process = self._make_process()
        context.run(PROCESS.set, process)
        await self._loop.create_task(self._open(process), name="opening", context=context)
        self.starts += 1
        self._process = process
        self.outages_us.append((self._down_since_us, self.clock.now_us()))

    async def writing(self) -> None:
        """Wait for a moment at which the network is writing."""
        if self._process is not None:
            self._process.disk.writing.clear()
            await self._process.disk.writing.wait()
            await asyncio.sleep(self._chance.uniform(0.0, 0.01))

    def crash(self, *, index_lost: bool) -> None:
        """End the process without warning."""
        process, self._process = self._process, None
        if process is None:
            return
        self._down_since_us = self.clock.now_us()
        process.alive = False
        process.disk.cut = True
        for answer in process.waiting:
            if not answer.done():
                answer.set_exception(ConnectionLost())
        self._loop.kill(process)
        if index_lost:
            self.index = MemoryIndex()

    async def ask(self, question: Callable[[Network], Coroutine[Any, Any, Answer]]) -> Answer:
        """Send a request to the network over a connection that has latency and may break."""
        process = self._process
        if process is None:
            raise ConnectionLost
        answer: asyncio.Future[Answer] = self._loop.create_future()
        process.waiting[answer] = None
        try:
            await self._travel()
            if not process.alive:
                raise ConnectionLost
            context = copy_context()
            context.run(PROCESS.set, process)
            self._loop.create_task(_reply(question, process.network, answer), name="question", context=context)
            told = await answer
            await self._travel()  # it has been sent, even if the process crashes now
            return told
        finally:
            process.waiting.pop(answer, None)
            if not answer.cancel() and not answer.cancelled():
                answer.exception()  # retrieved, even if its caller is gone

    async def _travel(self) -> None:
        await asyncio.sleep(self._chance.uniform(*TRAVEL_S))
        if self._chance.randrange(LOST_ONCE_IN) == 0:
            raise ConnectionLost

    def _make_process(self) -> SimulatedProcess:
        disk = Disk(self._chance)
        journal, index = SlowJournal(self.journal, disk), SlowIndex(self.index, disk)
        keeper = SimulatedIndexKeeper(journal, index)
        build = self._build
        desk = build.desk(
            journal,
            index,
            self.clock,
            wait_for_entry=keeper.wait_for,
            attempts_most=build.attempts_most,
            head_most=build.head_most,
            on_committed=keeper.notify,
        )

        async def wait_until_indexed() -> None:
            await keeper.wait_for((await journal.head()).seq)

        network = Network(
            desk=desk,
            journal=journal,
            index=index,
            clock=self.clock,
            randomness=self._randomness,
            token_key=TOKEN_KEY,
            wait_until_indexed=wait_until_indexed,
        )
        return SimulatedProcess(disk, network, keeper)

    async def _open(self, process: SimulatedProcess) -> None:
        self._loop.create_task(process.keeper.run(), name="index")
        await process.network.wait_until_indexed()
        desk = process.network.desk
        assert isinstance(desk, LocalDesk)
        await desk.open()
        await process.network.configuration.load()
        if self._build.expiry:
            self._loop.create_task(process.network.expiry.run(), name="expiry")
        if self._build.pusher is not None:
            PushStage(process.network, self._build.pusher(), NoSecrets()).start()


async def _reply(
    question: Callable[[Network], Coroutine[Any, Any, Answer]], network: Network, answer: asyncio.Future[Answer]
) -> None:
    try:
        told = await question(network)
    except Exception as error:
        if not answer.done():
            answer.set_exception(error)
    else:
        if not answer.done():
            answer.set_result(told)
