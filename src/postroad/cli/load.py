"""A load and what came of it: some clients post, one receives, and every message carries the time at which it was posted.

The sender and the receiver are services of an organization of their own, so that no mailbox in use is touched.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from postroad.cli.commands.keys import new_key
from postroad.client import Access, AsyncClient, Message, Refused, message
from postroad.errors import Unavailable

ORGANIZATION = "PostroadBench"
SENDER, RECEIVER = "Sender", "Receiver"
CHUNK = 200
POLL_MOST = 500
PATIENCE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    messages: int
    clients: int
    size_bytes: int
    bulk: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    messages: int
    posts_per_s: float
    post_p50_ms: float
    post_p99_ms: float
    receipts_per_s: float
    receipt_p50_ms: float
    receipt_p99_ms: float


@dataclass(slots=True, kw_only=True)
class Clocks:
    """What was timed, in seconds, and how much of the load is done."""

    advance: Callable[[float], None]
    started: float = field(default_factory=time.monotonic)
    posts_s: list[float] = field(default_factory=list)
    receipts_s: list[float] = field(default_factory=list)
    posted_at: float = 0.0
    received_at: float = 0.0

    def told(self) -> None:
        self.advance(len(self.posts_s) + len(self.receipts_s))


async def measured(access: Access, load: Load, advance: Callable[[float], None]) -> Measured:
    keys = await registered(access)
    clocks = Clocks(advance=advance)
    async with AsyncClient(access.url, keys[SENDER]) as sender, AsyncClient(access.url, keys[RECEIVER]) as receiver:
        shares = iter(range(load.messages))
        work = [post_some(sender, load, shares, clocks) for _ in range(load.clients)]
        await asyncio.gather(receive_all(receiver, load.messages, clocks), *work)
    return summary(load, clocks)


async def registered(access: Access) -> dict[str, str]:
    """Fresh keys of the two services, which are made if need be."""
    keys = {name: new_key() for name in (SENDER, RECEIVER)}
    services = {name: {"credentials": [{"label": "bench", "key": key}]} for name, key in keys.items()}
    document = {"postroad": 1, "organizations": {ORGANIZATION: {"services": services}}}
    async with AsyncClient(access=access) as operator:
        plan = await operator.plan(document)
        await operator.apply(document, version=plan.version)
    return keys


async def post_some(sender: AsyncClient, load: Load, shares: Iterator[int], clocks: Clocks) -> None:
    """Take messages from the common heap until it is empty."""
    while share := list(islice(shares, CHUNK if load.bulk else 1)):
        begun = time.monotonic()
        if load.bulk:
            answers = await sender.post_many([timed(load) for _ in share])
            for answer in answers:
                if isinstance(answer, Refused):
                    raise answer
        else:
            await sender.post_message(timed(load))
        clocks.posted_at = time.monotonic()
        clocks.posts_s += [clocks.posted_at - begun] * len(share)
        clocks.told()


def timed(load: Load) -> Message:
    """A message whose handle is the time at which it was made."""
    handle = f"{time.monotonic_ns()}-{secrets.token_hex(4)}"
    return message(to=f"{ORGANIZATION}/{RECEIVER}", document=b"x" * load.size_bytes, handle=handle)


async def receive_all(receiver: AsyncClient, messages: int, clocks: Clocks) -> None:
    while len(clocks.receipts_s) < messages:
        taken = await receiver.poll(POLL_MOST, wait_s=PATIENCE_S)
        now = time.monotonic()
        if not taken:
            raise Unavailable("bench.incomplete", f"only {len(clocks.receipts_s)} of {messages} messages arrived")
        mine = [int(item.handle.partition("-")[0]) / 1e9 for item in taken]
        clocks.receipts_s += [
            now - posted for posted in mine if posted >= clocks.started
        ]  # not those of an earlier run
        await receiver.acknowledge(*taken)
        clocks.received_at = time.monotonic()
        clocks.told()


def summary(load: Load, clocks: Clocks) -> Measured:
    return Measured(
        messages=load.messages,
        posts_per_s=load.messages / (clocks.posted_at - clocks.started),
        post_p50_ms=percentile_ms(clocks.posts_s, 0.5),
        post_p99_ms=percentile_ms(clocks.posts_s, 0.99),
        receipts_per_s=load.messages / (clocks.received_at - clocks.started),
        receipt_p50_ms=percentile_ms(clocks.receipts_s, 0.5),
        receipt_p99_ms=percentile_ms(clocks.receipts_s, 0.99),
    )


def percentile_ms(seconds: Sequence[float], share: float) -> float:
    ordered = sorted(seconds)
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000, 3)
