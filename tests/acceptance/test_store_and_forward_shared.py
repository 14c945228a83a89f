"""Store and forward in a shared network: what one node is asked to release, whichever node has room pushes, each message once."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from collections import Counter
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import AuthenticationLevel, Release
from postroad.core.model.message import Message, Part, Recipient
from postroad.flow.administration.releases import release
from tests.acceptance.test_push_shared import MYBIZ, PATH, WAIT_S, configured, inbox, states
from tests.samples.push_receiver import Receiver, receiver
from tests.waiting import eventually_async

MESSAGES = 12
WITNESS = "/witness"


async def post(node: RunningNetwork, count: int, to: str = "Acme/Inbox") -> None:
    sender = Caller(service=MYBIZ, level=AuthenticationLevel.KEY)
    for number in range(count):
        part = Part(id="1", content_type="text/plain", data=f"message {number}".encode())
        await node.network.post(sender, Message(to=(Recipient(to),), parts=(part,)))


async def delivered(node: RunningNetwork, count: int) -> None:
    async def are_delivered() -> bool:
        return (await states(node)).get(DeliveryState.DELIVERED) == count

    await eventually_async(are_delivered, WAIT_S, why=f"not {count} were delivered")


async def later_ones_came(receiving: Receiver, *nodes: RunningNetwork) -> None:
    """Post at each node to a service that holds nothing back: by then what was posted before would have come too."""
    count = len(receiving.at(WITNESS))
    for number, node in enumerate(nodes, 1):
        await post(node, 1, "Acme/Witness")
        await asyncio.to_thread(receiving.wait_for, WITNESS, count + number)


@pytest.mark.req("X9", "O3")
async def test_what_one_node_releases_is_pushed_once_and_what_one_node_finds_full_too(
    tmp_path: Path, postgres_database: str
) -> None:
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    shared |= {"push_allow_private": "127.0.0.0/8"}
    one, two = (
        read_settings(file=Path(os.devnull), environment={}, overrides={**shared, "data": str(tmp_path / name)})
        for name in ("one", "two")
    )
    with receiver() as receiving:
        async with open_network(one) as first, open_network(two) as second:
            held = dataclasses.replace(inbox(receiving), release=Release(when_waiting=MESSAGES))
            push = dataclasses.replace(held.push, url=receiving.url(WITNESS)) if held.push else None
            witness = dataclasses.replace(inbox(receiving), gcid="c" * 16, name="Witness", push=push)
            await configured(first, second, MYBIZ, held, witness)
            await post(first, 3)
            await later_ones_came(receiving, first, second)
            assert receiving.at(PATH) == []
            released = await release(second.network, Caller(service=held), held.gcid)
            assert released.going == 3
            await delivered(first, 3 + 2)
            await post(second, MESSAGES - 1)
            await later_ones_came(receiving, first, second)
            assert len(receiving.at(PATH)) == 3
            await post(first, 1)
            await delivered(second, 3 + MESSAGES + 4)
        pushes = Counter(pushed.id for pushed in receiving.at(PATH))
    assert len(pushes) == 3 + MESSAGES
    assert set(pushes.values()) == {1}
