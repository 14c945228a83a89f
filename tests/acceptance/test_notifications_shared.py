"""Notifications of a shared network: the leader sends, the other node shows the same, and takes over."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, Settings, open_network, read_settings
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Organization, Service, Visibility
from postroad.core.model.message import Message, Recipient
from postroad.core.model.polling import PollRequest
from postroad.core.model.subscription import Channel, Subscription
from postroad.flow.registries.configuration import build_save
from postroad.testing.clocks import ShiftedClock
from tests.samples.push_receiver import Receiver, receiver
from tests.waiting import eventually_async

BUYER = Service(gcid="a" * 16, organization="Globex", name="Buyer")
SUPPLY = Service(gcid="b" * 16, organization="Acme", name="Supply", visibility=Visibility.PUBLIC)


def caller(service: Service) -> Caller:
    return Caller(service=service, level=AuthenticationLevel.KEY)


async def fail_order(node: RunningNetwork) -> None:
    await node.network.post(caller(BUYER), Message(to=(Recipient("Acme/Supply"),)))
    [delivered] = await node.network.poll(caller(SUPPLY), PollRequest(wait_s=30.0))
    await node.network.fail(delivered, make_reason("push.tls", detail="expired"))


def ids(receiving: Receiver) -> list[str]:
    return [json.loads(one.body)["id"] for one in receiving.at("/hook")]


def shared_settings(data: Path, dsn: str, secret: str) -> Settings:
    values = {"acceptance": "shared", "index": "postgres", "postgres": dsn, "secret": secret}
    return read_settings(environment={}, overrides=values | {"data": str(data), "push_allow_private": ("127.0.0.0/8",)})


async def wait_until_known(node: RunningNetwork, count: int) -> None:
    """Wait until the leader has added the events; they are sent when their time has come."""

    async def is_known() -> bool:
        state = await node.network.notifications.read_state()
        return sum(cause.fresh for cause in state.digest("acme/ops", "dead-letter").causes.values()) >= count

    await eventually_async(is_known, why="no node follows the journal")


@pytest.mark.req("O8")
async def test_one_node_sends_and_the_other_takes_over(tmp_path: Path, postgres_database: str) -> None:
    secret, clock = os.urandom(32).hex(), ShiftedClock()
    one, two = (shared_settings(tmp_path / name, postgres_database, secret) for name in ("one", "two"))
    with receiver() as receiving:
        watched = Subscription(
            organization="Acme", name="ops", channel=Channel.WEBHOOK, address=receiving.url("/hook"), digest_minutes=1
        )
        async with open_network(one, clock=clock) as first:
            objects = [Organization(name="Acme"), Organization(name="Globex"), BUYER, SUPPLY, watched]
            await first.network.configuration.change("test", [build_save(item) for item in objects])
            await first.network.wait_until_indexed()
            async with open_network(two, clock=clock) as second:
                await fail_order(second)
                await wait_until_known(second, 1)
                clock.advance(20)
                await eventually_async(lambda: len(ids(receiving)) == 1, why="no notification was sent")

                async def is_shown() -> bool:
                    health = await second.network.notifications.read_health("acme/ops")
                    return health["acme/ops"].sent_at_us > 0

                await eventually_async(is_shown, why="the other node does not show what was sent")
        async with open_network(two, clock=clock) as second:
            await fail_order(second)
            await wait_until_known(second, 1)
            clock.advance(120)
            await eventually_async(lambda: len(ids(receiving)) == 2, why="the other node does not take over")
        assert len(set(ids(receiving))) == 2
