"""A network that the recorder runs in its own process: a clock that it moves, seeded ids, and clients over HTTP.

Rule: times, ids and keys are the same in every recording. What the order of background work decides (entry numbers, tokens,
durations of pushes) may differ, so the expected answers are recorded together with the data.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from postroad.adapters.passwords import Argon2Passwords
from postroad.api.serve import serve
from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.client import AsyncClient, Retrying
from postroad.core.model.directory import Credential, CredentialKind
from postroad.flow.registries.configuration import build_save
from postroad.testing.network import CHEAP
from postroad.testing.simulation.virtual_time import SeededRandomness
from tests.samples.recordings import OPERATOR, api_key_of, key_of
from tests.waiting import eventually_async

BEGAN = datetime(2026, 10, 5, 8, 0, tzinfo=UTC)
PATIENCE_S = 60.0
PUSH_TIMEOUT_S = 1


class RecordingClock:
    """The wall clock stands still until it is moved; the other clock is the machine's."""

    def __init__(self) -> None:
        self.ahead_s = 0.0

    def now_us(self) -> int:
        return int((BEGAN.timestamp() + self.ahead_s) * 1_000_000)

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead_s

    def advance(self, seconds: float) -> None:
        self.ahead_s += seconds


def variable(address: str) -> str:
    return "KEY_" + address.replace("/", "_").replace(" ", "_").upper()


@dataclass(kw_only=True)
class Recorded:
    """The network, and clients for everyone in it."""

    running: RunningNetwork
    clock: RecordingClock
    url: str
    operator_key: str
    clients: dict[str, AsyncClient] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)  # by what the message was posted for

    def at(self, who: str) -> AsyncClient:
        """The client of a service, a person or the operator; a second later than what came before."""
        self.clock.advance(1)
        if who not in self.clients:
            key = self.operator_key if who == OPERATOR else key_of(who)
            self.clients[who] = AsyncClient(self.url, key, retrying=Retrying(tries=1))
        return self.clients[who]

    async def post(self, name: str, sender: str, **fields: Any) -> str:
        """Post a message whose session is noted under ``name``."""
        posted = await self.at(sender).post(**fields)
        self.sessions[name] = posted.session
        return posted.session

    async def take(self, who: str, count: int = 1) -> list[Any]:
        """The next deliveries of a service, acknowledged."""
        client, taken = self.at(who), list[Any]()
        while len(taken) < count:
            polled = await client.poll(count - len(taken), wait_s=PATIENCE_S)
            assert polled, f"{who} received {len(taken)} of {count} messages"
            await client.acknowledge(*polled)
            taken += polled
        return taken

    async def let_log_in(self, email: str) -> None:
        """Give a person an API key."""
        key = api_key_of(email)
        credential = Credential(id=key.id, kind=CredentialKind.KEY, secret=key.hash, person=email)
        await self.running.network.configuration.change("test", [build_save(credential)])

    async def close(self) -> None:
        for client in self.clients.values():
            await client.close()


async def until(condition: Callable[[], Awaitable[object]]) -> None:
    """Wait until background work has come so far."""
    await eventually_async(condition, PATIENCE_S)


@asynccontextmanager
async def recorded_network(
    data: Path, clock: RecordingClock, seed: str, settings: Mapping[str, Any]
) -> AsyncIterator[Recorded]:
    """Serve a data folder or a shared store in this process."""
    chosen = read_settings(
        file=Path(os.devnull),
        environment={},
        overrides={"data": str(data), "port": 0, "least_free_bytes": 1 << 20, "attempts_most": 2,
                   "push_allow_private": "127.0.0.0/8", "push_timeout_s": PUSH_TIMEOUT_S, **settings},
    )  # fmt: skip
    randomness = SeededRandomness(Random(f"postroad {seed}"))  # the same ids in every recording
    async with AsyncExitStack() as stack:
        passwords = Argon2Passwords(**CHEAP)
        stack.callback(passwords.close)
        running = await stack.enter_async_context(
            open_network(chosen, clock=clock, randomness=randomness, passwords=passwords)
        )
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        server = asyncio.get_running_loop().create_task(serve(running, address.set_result))
        stack.push_async_callback(_ended, server)
        await asyncio.wait((server, address), return_when=asyncio.FIRST_COMPLETED)
        operator_key = (data / "operator.key").read_text().strip()
        recorded = Recorded(running=running, clock=clock, url=address.result(), operator_key=operator_key)
        stack.push_async_callback(recorded.close)
        yield recorded


async def _ended(server: asyncio.Task[None]) -> None:
    server.cancel()
    await asyncio.gather(server, return_exceptions=True)
