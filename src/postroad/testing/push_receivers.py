"""Simulated servers of pushed services, in memory: they record pushes, and respond as a test decides."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.directory import Service
from postroad.errors import Misconfigured
from postroad.ports import Clock
from postroad.testing.fixed_secrets import FixedSecrets

OK = PushAnswer(status=200)
WITHIN_S = 60.0
PushReceiver = Callable[[PushRequest], Awaitable[PushAnswer]]


class ReceivedPush(NamedTuple):
    """A push as its receiver got it, with its time."""

    at_us: int
    request: PushRequest


def push_url(address: str) -> str:
    """Return the URL of the server that a scenario gives to a pushed service; a URL is returned unchanged."""
    return address if "://" in address else f"https://{address.lower().replace('/', '.')}.example/"


class PushReceivers:
    """Receivers by URL or by the address of their service; each responds with 200 by default."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._receivers: dict[str, PushReceiver] = {}
        self._changed = asyncio.Condition()
        self.received: list[ReceivedPush] = []

    # ---- what tests decide and read

    def answer(self, address: str, *answers: PushAnswer) -> None:
        """Return these responses in order, and then the last one every time."""
        left = list(answers)

        async def next_answer(_: PushRequest) -> PushAnswer:
            return left.pop(0) if len(left) > 1 else left[0]

        self.answer_with(address, next_answer)

    def answer_with(self, address: str, receiver: PushReceiver) -> None:
        """Call a function to respond to each push."""
        self._receivers[push_url(address)] = receiver

    def hang(self, address: str) -> None:
        """Do not respond until the push times out."""

        async def time_out(request: PushRequest) -> PushAnswer:
            await asyncio.sleep(request.timeout_s)
            return PushAnswer(status=None, fault=make_reason("other", detail="no answer in time"))

        self.answer_with(address, time_out)

    def at(self, address: str) -> list[ReceivedPush]:
        """Return the pushes that one receiver got, in order."""
        return [push for push in self.received if push.request.url == push_url(address)]

    async def wait_for(self, address: str, count: int = 1, within_s: float = WITHIN_S) -> list[ReceivedPush]:
        """Return the pushes of one receiver as soon as there are ``count``; raises TimeoutError."""
        async with asyncio.timeout(within_s), self._changed:
            await self._changed.wait_for(lambda: len(self.at(address)) >= count)
        return self.at(address)

    # ---- what the network calls (``ports.Pusher``)

    async def push(self, request: PushRequest) -> PushAnswer:
        async with self._changed:
            self.received.append(ReceivedPush(self._clock.now_us(), request))
            self._changed.notify_all()
        receiver = self._receivers.get(request.url)
        return OK if receiver is None else await receiver(request)

    async def close(self) -> None:
        """Do nothing: nothing is open."""


@dataclass
class MemorySecrets(FixedSecrets):
    """Secrets of an operator by reference (``env:SECRET``, ``file:client.pem``), for ``ports.Secrets``."""

    values: dict[str, str] = field(default_factory=dict)

    def secret(self, service: Service, reference: str) -> str:
        if reference not in self.values:
            raise Misconfigured([f"{reference}: there is no such secret"])
        return self.values[reference]

    def file(self, service: Service, reference: str) -> str:
        return f"/kept/{self.secret(service, reference)}"
