"""A scenario in virtual time with services that are pushed to: days of retries pass at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from postroad.core.delivery.push_request import PushAnswer
from postroad.core.model.directory import Visibility
from postroad.core.model.message import MessageType
from postroad.flow.push.slots import PushCapacity
from postroad.testing import Scenario
from postroad.testing.network import MemoryStorage
from postroad.testing.push_receivers import OK
from postroad.testing.simulation.virtual_time import SeededRandomness, VirtualClock, random_for, virtual_loop

BUYER = "MyBiz/Purchasing"
BUSY = PushAnswer(status=503)
SECRET = "whsec_" + "c2VjcmV0" * 6
__all__ = ["BUSY", "BUYER", "OK", "SECRET", "PushScenario", "in_virtual_time"]


class PushScenario(Scenario):
    """MyBiz posts to services that are pushed to; deliveries that are due expire by themselves."""

    clock: VirtualClock

    def __init__(
        self, clock: VirtualClock, storage: MemoryStorage, starts: int, capacity: PushCapacity | None = None
    ) -> None:
        randomness = SeededRandomness(random_for(starts, "pushes"))
        super().__init__(clock=clock, storage=storage, randomness=randomness, push_capacity=capacity)
        self.secrets.values = {"env:SECRET": SECRET, "file:client.pem": "pem"}
        self._expiring: asyncio.Task[None]

    async def open(self) -> None:
        await super().open()
        self._expiring = asyncio.get_running_loop().create_task(self.network.expiry.run())
        if self.network.directory.service(BUYER) is None:
            await self.service(BUYER, visibility=Visibility.PRIVATE)

    async def close(self) -> None:
        self._expiring.cancel()
        await super().close()

    async def send(self, *to: str, type: MessageType = MessageType.NOTIFICATION, **header: Any) -> str:
        """Post a message as MyBiz; returns its session."""
        return (await self.post(BUYER, to, "hello", type=type, **header)).session

    async def state(self, session: str) -> str:
        """Return the state of the first copy at the last service that it reached."""
        return (await self.stops(session))[-1].state


Work = Callable[[PushScenario], Coroutine[Any, Any, None]]


def in_virtual_time(*lives: Work, capacity: PushCapacity | None = None) -> None:
    """Run a test in a time in which nobody waits; between one life and the next the network is started again."""
    loop, storage = virtual_loop(), MemoryStorage()

    async def run() -> None:
        for starts, work in enumerate(lives, 1):
            async with PushScenario(VirtualClock(loop), storage, starts, capacity) as at:
                await work(at)

    loop.run_until_complete(run())
    assert loop.failures == []
