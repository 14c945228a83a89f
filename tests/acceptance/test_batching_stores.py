"""Batches on every kind of store, from the post to the release of their members, across restarts and nodes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.interchange import x12
from postroad.core.interchange.model import OnEnvelopeError
from postroad.core.model.asset import Hosting
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_policy import Batching, BatchPolicy, Recovery
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import AuthenticationLevel, Organization, Person, Role, Service
from postroad.core.model.message import Message, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.administration import batch_actions as steering
from postroad.flow.registries.configuration import build_save
from tests.waiting import eventually_async

WAIT_S = 60.0
SALES = Service(gcid="a" * 16, organization="MyBiz", name="Sales")
EDI = Service(gcid="b" * 16, organization="MyBiz", name="edi")
PORT = Service(
    gcid="c" * 16,
    organization="MyBiz",
    name="orders",
    hosted=Hosting.BATCHER,
    batching=Batching(
        sends_to="MyBiz/edi",
        standard="x12",
        sender="MYBIZ",
        receiver="ACME",
        envelope=(("version", "00401"),),
        policy=BatchPolicy(count=3, recovery=Recovery.FAIL),
    ),
)
ADA = Person(email="ada@mybiz.example", organization="MyBiz", role=Role.DEVELOPER)


def order(number: int) -> bytes:
    return f"ST*850*{number:04}~BEG*00*NE*{number}**20260105~SE*3*{number:04}~".encode()


@asynccontextmanager
async def nodes(kind: str, folder: Path, database: str) -> AsyncIterator[tuple[RunningNetwork, RunningNetwork]]:
    """Two nodes of a network; where it has but one, that is both."""
    settings = {
        "embedded": {},
        "shared": {"acceptance": "shared", "index": "postgres"},
    }
    overrides = {"secret": "5e" * 32, "postgres": database, **settings[kind]}
    names = ("one", "two") if kind == "shared" else ("one",)
    async with AsyncExitStack() as stack:
        running = [
            await stack.enter_async_context(
                open_network(
                    read_settings(
                        file=Path(os.devnull), environment={}, overrides={**overrides, "data": str(folder / name)}
                    )
                )
            )
            for name in names
        ]
        yield running[0], running[-1]


async def configured(*running: RunningNetwork) -> None:
    changes = [build_save(one) for one in (Organization(name="MyBiz"), SALES, EDI, PORT, ADA)]
    await running[0].network.configuration.change("test", changes)
    for node in running:
        await node.network.wait_until_indexed()
        await node.network.configuration.load()


async def post(node: RunningNetwork, first: int, last: int) -> None:
    sender = Caller(service=SALES, level=AuthenticationLevel.KEY)
    for number in range(first, last + 1):
        part = Part(id="1", content_type="application/edi-x12", data=order(number))
        await node.network.post(sender, Message(to=(Recipient("MyBiz/orders"),), parts=(part,)))


async def until(node: RunningNetwork, *states: BatchState) -> None:
    async def are_found() -> bool:
        return await found(node) == list(states)

    await eventually_async(are_found, WAIT_S)


async def found(node: RunningNetwork) -> list[str]:
    return [row[2] for row in await node.network.index.query("batches_at", PORT.gcid, "~", 100)]


async def take(node: RunningNetwork) -> list[tuple[str, list[bytes]]]:
    receiver = Caller(service=EDI, level=AuthenticationLevel.KEY)
    found = await node.network.poll(receiver, PollRequest(max=10, wait_s=WAIT_S))
    await node.network.settle(receiver, Settlement(tokens=tuple(one.token for one in found)))
    split = [x12.split(one.parts[0].data, OnEnvelopeError.REFUSE) for one in found]
    return [(one.reference, [bytes(member.data) for member in one.members]) for one in split]


@pytest.mark.req("B2", "B5", "B7", "O3")
@pytest.mark.parametrize("kind", ["embedded", "shared"])
async def test_from_the_post_to_the_release_of_members(kind: str, tmp_path: Path, postgres_database: str) -> None:
    async with nodes(kind, tmp_path, postgres_database) as (first, second):
        await configured(first, second)
        await post(first, 1, 2)
        await post(second, 3, 4)
        await until(first, BatchState.OPEN, BatchState.ASSEMBLED)
        assert await take(second) == [("000000001", [order(1), order(2), order(3)])]
        await until(second, BatchState.OPEN, BatchState.SENT)
    async with nodes(kind, tmp_path, postgres_database) as (first, second):  # it was stopped in good order: no recovery
        await until(first, BatchState.OPEN, BatchState.SENT)
        [opened, _] = await second.network.index.query("batches_at", PORT.gcid, "~", 100)
        ada = Caller(person=ADA, level=AuthenticationLevel.KEY)
        await steering.release(second.network, ada, opened[0], "the day is over", None)
        await until(first, BatchState.ASSEMBLED, BatchState.SENT)
        assert await take(first) == [("000000002", [order(4)])]
        await until(second, BatchState.SENT, BatchState.SENT)
        states = dict(await first.network.index.query("states"))
        assert states == {DeliveryState.DELIVERED: 6}
