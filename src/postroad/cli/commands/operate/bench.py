"""The command ``postroad bench``: posts and receives messages with many clients, and measures rates and delays.

The sender and the receiver belong to a separate organization, so that no mailbox in use is touched.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import click

from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection, with_connection
from postroad.cli.framework.key_files import make_api_key
from postroad.cli.framework.output import Output
from postroad.client import Access, AsyncClient, Message, Refused, message
from postroad.errors import Unavailable

ORGANIZATION = "PostroadBench"
SENDER, RECEIVER = "Sender", "Receiver"
CHUNK = 200
MAX_POLL = 500
PATIENCE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    messages: int
    clients: int
    size_bytes: int
    bulk: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadResult:
    messages: int
    posts_per_s: float
    post_p50_ms: float
    post_p99_ms: float
    receipts_per_s: float
    receipt_p50_ms: float
    receipt_p99_ms: float


@dataclass(slots=True, kw_only=True)
class LoadTimings:
    """The measured times in seconds, and how much of the load is done."""

    advance: Callable[[float], None]
    started: float = field(default_factory=time.monotonic)
    posts_s: list[float] = field(default_factory=list)
    receipts_s: list[float] = field(default_factory=list)
    posted_at: float = 0.0
    received_at: float = 0.0

    def show_progress(self) -> None:
        self.advance(len(self.posts_s) + len(self.receipts_s))


async def measure_load(access: Access, load: Load, advance: Callable[[float], None]) -> LoadResult:
    keys = await register_services(access)
    clocks = LoadTimings(advance=advance)
    async with AsyncClient(access.url, keys[SENDER]) as sender, AsyncClient(access.url, keys[RECEIVER]) as receiver:
        shares = iter(range(load.messages))
        work = [post_some(sender, load, shares, clocks) for _ in range(load.clients)]
        await asyncio.gather(receive_all(receiver, load.messages, clocks), *work)
    return summarize_load(load, clocks)


async def register_services(access: Access) -> dict[str, str]:
    """Register the two services if needed, and return fresh keys for them."""
    keys = {name: make_api_key().text for name in (SENDER, RECEIVER)}
    services = {name: {"credentials": [{"label": "bench", "key": key}]} for name, key in keys.items()}
    document = {"postroad": 1, "organizations": {ORGANIZATION: {"services": services}}}
    async with AsyncClient(access=access) as operator:
        plan = await operator.plan(document)
        await operator.apply(document, version=plan.version)
    return keys


async def post_some(sender: AsyncClient, load: Load, shares: Iterator[int], clocks: LoadTimings) -> None:
    """Post messages from the shared supply until it is empty."""
    while share := list(islice(shares, CHUNK if load.bulk else 1)):
        begun = time.monotonic()
        if load.bulk:
            answers = await sender.post_many([timed_message(load) for _ in share])
            for answer in answers:
                if isinstance(answer, Refused):
                    raise answer
        else:
            await sender.post_message(timed_message(load))
        clocks.posted_at = time.monotonic()
        clocks.posts_s += [clocks.posted_at - begun] * len(share)
        clocks.show_progress()


def timed_message(load: Load) -> Message:
    """Make a message whose handle is its creation time."""
    handle = f"{time.monotonic_ns()}-{secrets.token_hex(4)}"
    return message(to=f"{ORGANIZATION}/{RECEIVER}", document=b"x" * load.size_bytes, handle=handle)


async def receive_all(receiver: AsyncClient, messages: int, clocks: LoadTimings) -> None:
    while len(clocks.receipts_s) < messages:
        taken = await receiver.poll(MAX_POLL, wait_s=PATIENCE_S)
        now = time.monotonic()
        if not taken:
            raise Unavailable("bench.incomplete", f"only {len(clocks.receipts_s)} of {messages} messages arrived")
        mine = [int(item.handle.partition("-")[0]) / 1e9 for item in taken]
        clocks.receipts_s += [
            now - posted for posted in mine if posted >= clocks.started
        ]  # not those of an earlier run
        await receiver.acknowledge(*taken)
        clocks.received_at = time.monotonic()
        clocks.show_progress()


def summarize_load(load: Load, clocks: LoadTimings) -> LoadResult:
    return LoadResult(
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


@command
@click.option("--messages", default=2000, type=click.IntRange(1), help="Number of messages.", show_default=True)
@click.option(
    "--clients", default=16, type=click.IntRange(1, 256), help="Number of concurrent senders.", show_default=True
)
@click.option(
    "--bytes",
    "size_bytes",
    default=2048,
    type=click.IntRange(1),
    help="Size of each message in bytes.",
    show_default=True,
)
@click.option("--bulk", is_flag=True, help="Post in bulk instead of one by one.")
@with_connection
def bench(out: Output, messages: int, clients: int, size_bytes: int, bulk: bool, connection: NetworkConnection) -> None:
    """Measure a running network with a quick load.

    Needs an operator's key: it registers an organization PostroadBench with a sender and a receiver. If this client
    and the server share a machine, the figures are lower than what the network can do.
    """
    load = Load(messages=messages, clients=clients, size_bytes=size_bytes, bulk=bulk)
    with out.progress("posting and receiving", messages * 2) as advance:
        found = asyncio.run(measure_load(connection.access(), load, advance))
    out.value(found)
    out.table(("", "messages/s", "p50 ms", "p99 ms"), _rows(found))


def _rows(found: LoadResult) -> list[tuple[str, ...]]:
    return [
        ("post", f"{found.posts_per_s:.0f}", f"{found.post_p50_ms:.1f}", f"{found.post_p99_ms:.1f}"),
        (
            "post to receipt",
            f"{found.receipts_per_s:.0f}",
            f"{found.receipt_p50_ms:.1f}",
            f"{found.receipt_p99_ms:.1f}",
        ),
    ]
