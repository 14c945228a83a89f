"""A model forwards what its producers publish to the consumers that its tree says: over the real stages in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from postroad.core.hierarchy.changes import ModelChange
from postroad.core.hierarchy.model import Attachment, Node, Side, Strategy, Way
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.message import (
    Delivered,
    MessageType,
    Part,
    Property,
    PropertyType,
    Status,
)
from postroad.flow.administration import models as changing
from postroad.flow.administration import services
from postroad.testing import Scenario
from postroad.testing.scenario import Who
from tests.samples.service_tools import UpperCase, document, engines

WIDGETS = ("widget-1", "widget-2", "widget-3", "widget-4")
NORTH_AMERICA, MEXICO = document("North America"), document("Mexico")
TREE = (
    ("application", ""), ("canvas-1", "application"), ("widget-1", "canvas-1"), ("widget-2", "canvas-1"),
    ("canvas-2", "application"), ("widget-3", "canvas-2"), ("widget-4", "canvas-2"),
)  # fmt: skip
SOON_S = 30.0


OPERATOR = "operator@network.example"
ADDRESSES = {"stranger": "MyBiz/Purchasing", "model": "Acme/Regions"}


class ModelScenario(Scenario):
    """An application with two canvases of two widgets each, all of them services, and the model of it.

    Services are named as in the tree; ``stranger`` and ``model`` are the others.
    """

    def caller(self, who: Who) -> Caller:
        if isinstance(who, str) and "@" not in who and "/" not in who:
            who = ADDRESSES.get(who, f"Acme/{who}")
        return super().caller(who)

    async def change_model(self, model: str = "model", **piece: Any) -> None:
        change = ModelChange(**piece)
        await changing.change(self.administration, self.caller(OPERATOR), self.gcid(model), change, "test")

    async def attach(self, name: str, side: Side, node: str = "", *topics: str, model: str = "model") -> Attachment:
        id = f"{side}:{node}:{name}"
        one = Attachment(id=id, service=self.gcid(name), side=side, node=node, topics=topics)
        await self.change_model(model, attachments=(one,))
        return one

    async def publish(
        self, name: str, part: Part = NORTH_AMERICA, *, to: str = "Acme/Regions", topic: str = "region", **more: Any
    ) -> str:
        return (await self.post(name, to, parts=(part,), topic=topic, **more)).session

    async def copies_sent(self, name: str, part: Part = NORTH_AMERICA, **more: Any) -> str:
        """Publish as a request; returns how many copies the model says it has sent."""
        await self.publish(name, part, type=MessageType.REQUEST, **more)
        answer = await self.got(name)
        assert answer.status is None
        [copies] = answer.properties
        assert copies.name == "model.copies"
        return copies.value

    async def refused(self, name: str, **more: Any) -> Status:
        await self.publish(name, type=MessageType.REQUEST, **more)
        status = (await self.got(name)).status
        assert status is not None
        return status

    async def got(self, name: str) -> Delivered:
        """Wait for one message of a service, and acknowledge it."""
        [one] = await self.take(name, max=1, wait_s=SOON_S)
        return one

    async def heard(self, *names: str) -> list[str]:
        """Return which of these services got something, and acknowledge it."""
        return [name for name in names if await self.take(name)]


@pytest.fixture
async def dashboard() -> AsyncIterator[ModelScenario]:
    async with ModelScenario(engines=engines(UpperCase())) as scenario:
        private = Visibility.PRIVATE
        for name in ("application", "canvas-1", "canvas-2", *WIDGETS):
            await scenario.service(f"Acme/{name}", visibility=private)
        await scenario.service(ADDRESSES["stranger"], visibility=private)
        await scenario.service(ADDRESSES["model"], hosted=Hosting.MODEL, open_to=("MyBiz",))
        await scenario.person(OPERATOR, operator=True)
        await scenario.change_model(nodes=tuple(Node(tag=tag, under=under, topics=("region",)) for tag, under in TREE))
        await scenario.attach("application", Side.PRODUCER, "application")
        for widget in WIDGETS:
            await scenario.attach(widget, Side.CONSUMER, widget)
        yield scenario


@pytest.mark.req("H1", "H2")
async def test_north_america_reaches_every_widget_under_its_own_header(dashboard: ModelScenario) -> None:
    session = await dashboard.publish("application", handle="h1", properties=(Property("a", "1", PropertyType.NUMBER),))
    for widget in WIDGETS:
        one = await dashboard.got(widget)
        assert (one.sender, one.topic, one.handle, one.parts) == ("Acme/application", "region", "h1", (NORTH_AMERICA,))
        assert (one.type, one.transaction) == (MessageType.NOTIFICATION, session)


@pytest.mark.req("H3", "H4")
async def test_mexico_stays_on_the_canvas_that_has_become_a_producer_while_it_is_one(dashboard: ModelScenario) -> None:
    mine = await dashboard.attach("canvas-2", Side.PRODUCER, "canvas-2")
    assert await dashboard.copies_sent("canvas-2", MEXICO) == "2"
    assert await dashboard.heard(*WIDGETS) == ["widget-3", "widget-4"]
    assert await dashboard.copies_sent("application") == "2"
    assert await dashboard.heard(*WIDGETS) == ["widget-1", "widget-2"]
    await dashboard.change_model(without_attachments=(mine.id,))
    assert await dashboard.copies_sent("application") == "4"


@pytest.mark.req("H4")
async def test_nodes_come_move_and_go_while_messages_flow(dashboard: ModelScenario) -> None:
    assert await dashboard.copies_sent("application") == "4"
    await dashboard.change_model(nodes=(Node(tag="widget-5", under="canvas-2", topics=("region",)),))
    await dashboard.attach("stranger", Side.CONSUMER, "widget-5")
    await dashboard.attach("canvas-1", Side.PRODUCER, "canvas-1")
    await dashboard.heard(*WIDGETS)
    await dashboard.change_model(nodes=(Node(tag="canvas-2", under="canvas-1", topics=("region",)),))
    assert await dashboard.copies_sent("canvas-1") == "5"
    assert await dashboard.copies_sent("application") == "0"
    await dashboard.change_model(without_nodes=("canvas-2",), with_descendants=True)
    assert await dashboard.copies_sent("canvas-1") == "2"


@pytest.mark.req("H5")
async def test_a_topic_goes_the_way_that_was_chosen_for_it(dashboard: ModelScenario) -> None:
    await dashboard.attach("canvas-1", Side.CONSUMER, "canvas-1")
    await dashboard.attach("canvas-2", Side.PRODUCER, "widget-2")
    await dashboard.change_model(strategies=(("region", Strategy(way=Way.ANCESTORS)),))
    assert await dashboard.copies_sent("canvas-2") == "2"
    assert await dashboard.heard("canvas-1", *WIDGETS) == ["canvas-1", "widget-2"]
    await dashboard.change_model(strategies=(("region", Strategy(way=Way.SIBLINGS)),))
    assert await dashboard.copies_sent("canvas-2") == "1"
    assert await dashboard.heard("canvas-1", *WIDGETS) == ["widget-1"]


async def test_a_post_of_a_service_that_is_no_producer_is_refused(dashboard: ModelScenario) -> None:
    status = await dashboard.refused("stranger")
    assert (status.code, "MyBiz/Purchasing is not a producer of topic 'region'" in status.text) == (
        "permission.denied",
        True,
    )
    assert (await dashboard.refused("application", topic="weather")).code == "permission.denied"
    assert await dashboard.heard(*WIDGETS) == []


async def test_a_notification_of_a_stranger_becomes_a_dead_letter_of_the_model(dashboard: ModelScenario) -> None:
    session = await dashboard.publish("stranger")
    assert await dashboard.copies_sent("application") == "4"  # which was posted later
    assert await dashboard.states(session) == ["failed"]


async def test_a_producer_at_several_nodes_says_at_which(dashboard: ModelScenario) -> None:
    await dashboard.attach("application", Side.PRODUCER, "canvas-2")
    status = await dashboard.refused("application")
    assert (status.code, "application, canvas-2" in status.text) == ("value.invalid", True)
    named = (Property("node", "canvas-2"),)
    assert await dashboard.copies_sent("application", properties=named) == "2"
    assert (
        await dashboard.refused("application", properties=(Property("node", "canvas-1"),))
    ).code == "permission.denied"


async def test_beside_the_tree_a_service_hears_or_says_a_topic_everywhere(dashboard: ModelScenario) -> None:
    await dashboard.attach("stranger", Side.CONSUMER, "", "region")
    assert await dashboard.copies_sent("application") == "5"
    await dashboard.attach("canvas-1", Side.PRODUCER, "", "region")
    assert await dashboard.copies_sent("canvas-1") == "1"  # the application shadows the whole tree


async def test_a_model_without_nodes_says_what_is_missing(dashboard: ModelScenario) -> None:
    await dashboard.service("Acme/Empty", hosted=Hosting.MODEL)
    status = await dashboard.refused("application", to="Acme/Empty")
    assert status.code == "configuration.conflict"


async def test_a_model_that_is_closed_again_neither_hears_its_guests_nor_tells_them(dashboard: ModelScenario) -> None:
    await dashboard.attach("stranger", Side.CONSUMER, "widget-1")
    await dashboard.attach("stranger", Side.PRODUCER, "canvas-1")
    assert await dashboard.copies_sent("application") == "2"
    await dashboard.change(ADDRESSES["model"], open_to=())
    assert (await dashboard.refused("stranger")).code == "permission.denied"
    await dashboard.attach("canvas-1", Side.PRODUCER, "canvas-1")
    assert await dashboard.copies_sent("canvas-1") == "2"
    assert await dashboard.heard("stranger") == []


@pytest.mark.req("X7")
async def test_a_message_forwarded_by_an_exchange_is_published_by_its_sender(dashboard: ModelScenario) -> None:
    await dashboard.service("Acme/News", hosted=Hosting.EXCHANGE)
    await dashboard.bind("Acme/News", "model", "all")
    await dashboard.attach("stranger", Side.PRODUCER, "canvas-1")
    await dashboard.publish("stranger", to="Acme/News")
    assert (await dashboard.got("widget-1")).sender == "MyBiz/Purchasing"
    assert (await dashboard.got("widget-2")).sender == "MyBiz/Purchasing"
    assert await dashboard.heard(*WIDGETS) == []


async def test_a_service_that_goes_takes_its_attachments_and_its_model_with_it(dashboard: ModelScenario) -> None:
    administration, operator = dashboard.administration, dashboard.caller(OPERATOR)
    await services.remove(administration, operator, "Acme/widget-3", None)
    assert await dashboard.copies_sent("application") == "3"
    model = dashboard.gcid("model")
    await services.remove(administration, operator, "Acme/Regions", None)
    directory = dashboard.network.directory
    assert not directory.parts_of(model, "node")
    assert not directory.parts_of(model, "attachment")
