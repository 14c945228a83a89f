"""Pushes in a shared network: every node pushes, and each message is pushed by one of them."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import (
    AuthenticationLevel,
    DeliveryMode,
    Organization,
    Push,
    PushAuthentication,
    Service,
    Visibility,
)
from postroad.core.model.message import Message, Part, Recipient
from postroad.flow.registries.configuration import build_save
from tests.samples.push_receiver import Answer, Pushed, Receiver, receiver
from tests.waiting import eventually_async

MESSAGES = 40
WAIT_S = 60.0
PATH = "/inbox"
MYBIZ = Service(gcid="a" * 16, organization="MyBiz", name="Purchasing")


def inbox(receiving: Receiver) -> Service:
    push = Push(url=receiving.url(PATH), authentication=PushAuthentication.NONE, retry_interval_s=1, tries=30)
    return Service(
        gcid="b" * 16,
        organization="Acme",
        name="Inbox",
        visibility=Visibility.PUBLIC,
        delivery=DeliveryMode.PUSH,
        push=push,
    )


async def configured(node: RunningNetwork, other: RunningNetwork, *services: Service) -> None:
    houses = [Organization(name=service.organization) for service in services]
    changed = await node.network.configuration.change("test", [build_save(item) for item in (*houses, *services)])
    known = asyncio.Event()
    other.network.configuration.on_change(
        lambda directory: known.set() if directory.version >= changed.version else None
    )
    await asyncio.wait_for(known.wait(), WAIT_S)


async def states(node: RunningNetwork) -> dict[int, int]:
    await node.network.wait_until_indexed()
    return dict(await node.network.index.query("states"))


@pytest.mark.req("D3", "O3")
async def test_two_nodes_push_each_message_once(tmp_path: Path, postgres_database: str) -> None:
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    shared |= {"push_allow_private": "127.0.0.0/8"}
    one, two = (
        read_settings(file=Path(os.devnull), environment={}, overrides={**shared, "data": str(tmp_path / name)})
        for name in ("one", "two")
    )
    failed_once: set[str] = set()

    with receiver() as receiving:

        def answering(pushed: Pushed) -> Answer:
            text = pushed.delivered.parts[0].data.decode()
            if text == "fails once" and text not in failed_once:
                failed_once.add(text)
                return Answer(status=503)
            return Answer()

        receiving.answers[PATH] = answering
        async with open_network(one) as first, open_network(two) as second:
            await configured(first, second, MYBIZ, inbox(receiving))
            sender = Caller(service=MYBIZ, level=AuthenticationLevel.KEY)
            for number in range(MESSAGES):
                text = "fails once" if number == 7 else f"message {number}"
                part = Part(id="1", content_type="text/plain", data=text.encode())
                node = first if number % 2 else second
                await node.network.post(sender, Message(to=(Recipient("Acme/Inbox"),), parts=(part,)))

            async def all_delivered() -> bool:
                return await states(first) == {DeliveryState.DELIVERED: MESSAGES}

            await eventually_async(all_delivered, WAIT_S)
        pushes = Counter(pushed.delivered.parts[0].data for pushed in receiving.at(PATH))
    assert pushes.pop(b"fails once") == 2
    assert set(pushes.values()) == {1}
    assert len(pushes) == MESSAGES - 1
