"""Bindings in a shared network: made on one node, they hold on the other, and each message goes out once."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Organization, Service
from postroad.core.model.exchange import Binding
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.polling import PollRequest, Settlement
from postroad.flow.administration import bindings
from postroad.flow.administration.base import Administration
from postroad.flow.registries.configuration import build_save

WAIT_S = 60.0
MESSAGES = 20
SENDER, QUEUE, EXCHANGE = (
    Service(gcid=digit * 16, organization="Acme", name=name, hosted=hosted)
    for digit, name, hosted in (
        ("a", "Sender", Hosting.NONE), ("b", "Queue", Hosting.NONE), ("c", "Exchange", Hosting.EXCHANGE)
    )
)  # fmt: skip
WANTED = Binding(
    exchange=EXCHANGE.gcid,
    name="wanted",
    queue=QUEUE.gcid,
    query="for $o in $msg/order where $o/total > 10 return <seen>{$o/@id}</seen>",
)


def caller(service: Service) -> Caller:
    return Caller(service=service, level=AuthenticationLevel.KEY)


class Watch:
    """Waits until a node knows of so many bindings of an exchange that it knows."""

    def __init__(self, node: RunningNetwork) -> None:
        self._network, self._changed = node.network, asyncio.Event()
        self._network.configuration.follow(lambda directory, changes: self._changed.set())

    async def sees(self, count: int) -> None:
        async with asyncio.timeout(WAIT_S):
            while not self._knows(count):
                self._changed.clear()
                await self._changed.wait()

    def _knows(self, count: int) -> bool:
        known = EXCHANGE.gcid in self._network.directory.services
        return known and self._network.bindings.count(EXCHANGE.gcid) == count


async def post(node: RunningNetwork, number: int, kind: MessageType = MessageType.NOTIFICATION) -> None:
    text = f'<order id="{number}"><total>{number}</total></order>'
    part = Part(id="1", content_type="application/xml", data=text.encode())
    await node.network.post(caller(SENDER), Message(to=(Recipient(EXCHANGE.address),), type=kind, parts=(part,)))


async def received(node: RunningNetwork, most: int) -> Counter[str]:
    found: Counter[str] = Counter()
    while found.total() < most:
        polled = await node.network.poll(caller(QUEUE), PollRequest(max=most, wait_s=WAIT_S))
        assert polled, f"only {found.total()} of {most} arrived"
        await node.network.settle(caller(QUEUE), Settlement(tokens=tuple(one.token for one in polled)))
        found.update(one.parts[0].data.decode() for one in polled)
    return found


@pytest.mark.req("X6", "O3")
async def test_what_is_bound_on_one_node_holds_on_the_other(tmp_path: Path, postgres_database: str) -> None:
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    one, two = (
        read_settings(file=Path(os.devnull), environment={}, overrides={**shared, "data": str(tmp_path / name)})
        for name in ("one", "two")
    )
    async with open_network(one) as first, open_network(two) as second:
        made = [build_save(item) for item in (Organization(name="Acme"), SENDER, QUEUE, EXCHANGE)]
        await first.network.configuration.change("test", made)
        on_first, on_second = Watch(first), Watch(second)
        await on_second.sees(0)
        here, there = (
            Administration(node.network, node.passwords, judges=node.engines.judges) for node in (first, second)
        )
        await bindings.bind(here, caller(QUEUE), WANTED)
        await on_second.sees(1)
        await asyncio.gather(*(post((first, second)[number % 2], 11 + number) for number in range(MESSAGES)))
        expected = Counter(f'<seen id="{11 + number}"/>' for number in range(MESSAGES))
        assert await received(second, MESSAGES) == expected
        await bindings.unbind(there, caller(QUEUE), WANTED, 1)
        await on_first.sees(0)
        await post(first, 99, MessageType.REQUEST)
        [answer] = await first.network.poll(caller(SENDER), PollRequest(max=1, wait_s=WAIT_S))
        assert [one.value for one in answer.properties if one.name == "exchange.copies"] == ["0"]
        await bindings.bind(there, caller(QUEUE), WANTED)
        await on_first.sees(1)
        await post(first, 100)
        assert await received(first, 1) == Counter(['<seen id="100"/>'])
