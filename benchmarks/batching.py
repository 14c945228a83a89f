"""What it costs a network to gather messages: durable from the post to the release of every member, beside delivery one by one.

    python -m benchmarks.batching [--quick]

Purchase orders of half a kilobyte are posted, many in a call or each by itself, to a network with segment files and its index
process. On one side the partner polls and acknowledges each of them. On the other they go to a send port: each joins a batch of
a thousand, each batch becomes an X12 interchange, the partner polls and acknowledges that, and a message counts when it is
settled. A standard port writes down who has joined whenever it has looked; one of high performance when it is a thousand, or
after a second. All sides take turns, on networks of their own. Messages a second are those of the best round; CPU time is that
of all processes of the network, until they have come to rest. Ends with 1 when batching takes more of it than is allowed.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.comparing import work_folder
from benchmarks.processes import cpu_s_at_rest
from postroad.bootstrap import open_network, read_settings
from postroad.core.model.asset import Hosting
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import AuthenticationLevel, Organization, Service
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import PostroadError
from postroad.flow.network import Network
from postroad.flow.registries.configuration import build_save
from postroad.flow.stages.posting import Answer, Posting

ROUNDS = 4
MESSAGES = 10_000
IN_A_CALL = 500
POSTERS = 50  # who post one at a time
IN_A_BATCH = 1_000
MAX_TIMES = 4.0  # the CPU time of delivery one by one
PATIENCE_S = 120.0
SALES = Service(gcid="a" * 16, organization="MyBiz", name="Sales")
PARTNER = Service(gcid="b" * 16, organization="MyBiz", name="Acme")
SIDES = {"one by one": None, "batches, standard": 0, "batches, high performance": IN_A_BATCH}


Post = Callable[[Network, str, Sequence[bytes]], Awaitable[None]]


class Took(NamedTuple):
    seconds: float
    cpu_s: float


def port(persist_at: int) -> Service:
    batching = Batching(
        sends_to="MyBiz/Acme",
        standard="x12",
        sender="MYBIZ",
        receiver="ACME",
        envelope=(("version", "00401"),),
        policy=BatchPolicy(count=IN_A_BATCH),
        persist_at=persist_at,
    )
    return Service(gcid="c" * 16, organization="MyBiz", name="orders", hosted=Hosting.BATCHER, batching=batching)


def order(number: int) -> bytes:
    lines = "".join(f"PO1*{line}*{line * 12}*EA*{line}.95**BP*4000001{line:06d}~" for line in range(1, 12))
    return f"ST*850*{number:06d}~BEG*00*SA*PO{number:08d}**20261116~{lines}CTT*11~SE*15*{number:06d}~".encode()


@asynccontextmanager
async def opened(folder: Path, persist_at: int | None) -> AsyncIterator[Network]:
    """A network with one who sends and one who receives, and a send port between them if asked for."""
    chosen = {"data": str(folder), "queued_messages": "0"}
    settings = read_settings(file=Path(os.devnull), environment={}, overrides=chosen)
    async with open_network(settings) as running:
        services = [SALES, PARTNER, *([port(persist_at)] if persist_at is not None else [])]
        changes = [build_save(one) for one in (Organization(name="MyBiz"), *services)]
        await running.network.configuration.change("benchmark", changes)
        yield running.network


async def post_in_calls(network: Network, to: str, documents: Sequence[bytes]) -> None:
    for start in range(0, len(documents), IN_A_CALL):
        await post_some(network, to, documents[start : start + IN_A_CALL])


async def post_one_at_a_time(network: Network, to: str, documents: Sequence[bytes]) -> None:
    async def post_each(some: Sequence[bytes]) -> None:
        for document in some:
            await post_some(network, to, [document])

    await asyncio.gather(*[post_each(documents[place::POSTERS]) for place in range(POSTERS)])


async def post_some(network: Network, to: str, documents: Sequence[bytes]) -> None:
    """All of them in one call, and until the last is answered."""
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    left = len(documents)

    def answered(place: int, answer: Answer) -> None:
        nonlocal left
        left -= 1
        if isinstance(answer, PostroadError):
            done.set_exception(answer)
        elif not left:
            done.set_result(None)

    parts = [Part(id="1", content_type="application/edi-x12", data=one) for one in documents]
    messages = [Message(to=(Recipient(to),), parts=(part,)) for part in parts]
    caller = Caller(service=SALES, level=AuthenticationLevel.KEY)
    network.submit_many(caller, [Posting(one, len(one.parts[0].data), "python") for one in messages], answered)
    await done


async def take_all(network: Network, count: int) -> None:
    """The partner polls and acknowledges until it has so many messages."""
    caller = Caller(service=PARTNER, level=AuthenticationLevel.KEY)
    while count:
        found = await network.poll(caller, PollRequest(max=IN_A_CALL, wait_s=PATIENCE_S))
        await network.settle(caller, Settlement(tokens=tuple([one.token for one in found])))
        count -= len(found)


async def settled(network: Network, count: int) -> None:
    """Until so many deliveries are done with."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            await network.wait_until_indexed()
            if dict(await network.index.query("states")) == {DeliveryState.DELIVERED: count}:
                return
            await asyncio.sleep(0.01)


WAYS: dict[str, Post] = {f"{IN_A_CALL} in a call": post_in_calls, f"one at a time, by {POSTERS}": post_one_at_a_time}


class Side:
    """A network on which messages go in one of the ways, as often as asked."""

    def __init__(self, network: Network, *, gathers: bool) -> None:
        self._network = network
        self._gathers = gathers
        self._delivered = 0

    async def round(self, post: Post, documents: Sequence[bytes]) -> Took:
        """From the first post to the last settled message."""
        interchanges = len(documents) // IN_A_BATCH if self._gathers else 0
        began_cpu_s, began = await cpu_s(), time.perf_counter()
        address = "MyBiz/orders" if self._gathers else "MyBiz/Acme"
        posting = asyncio.ensure_future(post(self._network, address, documents))
        await take_all(self._network, interchanges or len(documents))
        await posting
        self._delivered += len(documents) + interchanges
        await settled(self._network, self._delivered)
        seconds = time.perf_counter() - began
        return Took(seconds, await cpu_s() - began_cpu_s)


async def cpu_s() -> float:
    return await asyncio.to_thread(cpu_s_at_rest, [os.getpid()])


async def measured(folder: Path, messages: int, rounds: int) -> dict[str, dict[str, list[Took]]]:
    """All sides in turn, after a round of each that counts for nothing; by way of posting and side."""
    documents = [order(number) for number in range(1, messages + 1)]
    took: dict[str, dict[str, list[Took]]] = {way: {name: [] for name in SIDES} for way in WAYS}
    async with AsyncExitStack() as stack:
        sides = {}
        for place, (name, persist_at) in enumerate(SIDES.items()):
            network = await stack.enter_async_context(opened(folder / str(place), persist_at))
            sides[name] = Side(network, gathers=persist_at is not None)
        for _, way, name in itertools.product(range(rounds + 1), WAYS, SIDES):
            took[way][name].append(await sides[name].round(WAYS[way], documents))
    return {way: {name: each[1:] for name, each in found.items()} for way, found in took.items()}


def table(way: str, took: Mapping[str, Sequence[Took]], messages: int) -> tuple[list[str], list[str]]:
    """A line for each side, and what was missed."""
    least = {name: (min(one.seconds for one in each), min(one.cpu_s for one in each)) for name, each in took.items()}
    alone_s, alone_cpu_s = least["one by one"]
    lines, missed = [f"{way:28}{'messages/s':>11}{'ratio':>8}{'CPU µs each':>13}{'ratio':>8}"], []
    for name, (seconds, cpu) in least.items():
        speed, cost = alone_s / seconds, cpu / alone_cpu_s
        lines.append(f"{name:28}{messages / seconds:11,.0f}{speed:7.2f}x{cpu / messages * 1e6:13.1f}{cost:7.2f}x")
        if cost > MAX_TIMES:
            missed.append(f"missed: {name}, {way}: {cost:.2f}x the CPU time of one by one, and {MAX_TIMES}x is allowed")
    return lines, missed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batching", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer messages and rounds")
    chosen = parser.parse_args()
    messages, rounds = (5_000, 2) if chosen.quick else (MESSAGES, ROUNDS)
    with work_folder() as folder:
        took = asyncio.run(measured(folder, messages, rounds))
    print(f"{messages:,} X12 orders of {len(order(1))} bytes, {IN_A_BATCH:,} in a batch, durable in segment files")
    missed: list[str] = []
    for way, found in took.items():
        lines, faults = table(way, found, messages)
        print("\n".join(lines))
        missed += faults
    for fault in missed:
        print(fault, file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
