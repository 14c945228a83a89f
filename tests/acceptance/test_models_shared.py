"""A model in a shared network: what one node changes, the other follows in the model that it has open."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.core.hierarchy.changes import ModelChange
from postroad.core.hierarchy.model import Attachment, Node, Side
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import AuthenticationLevel, Organization, Person, Service
from postroad.flow.administration import models as changing
from postroad.flow.administration.base import Administration
from postroad.flow.registries.configuration import build_save

WAIT_S = 60.0
MODEL, APPLICATION, WIDGET = (
    Service(gcid=digit * 16, organization="Acme", name=name, hosted=hosted)
    for digit, name, hosted in (("a", "Regions", Hosting.MODEL), ("b", "App", Hosting.NONE), ("c", "W", Hosting.NONE))
)
OPERATOR = Caller(person=Person(email="operator@network.example", operator=True), level=AuthenticationLevel.KEY)
TREE = ModelChange(
    nodes=(Node(tag="root", topics=("region",)), Node(tag="canvas", under="root", topics=("region",))),
    attachments=(
        Attachment(id="app", service=APPLICATION.gcid, side=Side.PRODUCER, node="root"),
        Attachment(id="w", service=WIDGET.gcid, side=Side.CONSUMER, node="canvas"),
    ),
)


async def receivers(node: RunningNetwork) -> list[str]:
    index = await node.network.models.load(MODEL.gcid)
    return [one.id for one in index.publish("app", "region")] if index is not None else []


async def until(node: RunningNetwork, expected: list[str]) -> None:
    changed = asyncio.Event()
    node.network.configuration.follow(lambda directory, changes: changed.set())
    async with asyncio.timeout(WAIT_S):
        while await receivers(node) != expected:
            await changed.wait()
            changed.clear()


async def change(node: RunningNetwork, piece: ModelChange) -> None:
    administration = Administration(node.network, node.passwords)
    await changing.change(administration, OPERATOR, MODEL.gcid, piece, "test")


@pytest.mark.req("H4", "O3")
async def test_two_nodes_have_the_same_model(tmp_path: Path, postgres_database: str) -> None:
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    one, two = (
        read_settings(file=Path(os.devnull), environment={}, overrides={**shared, "data": str(tmp_path / name)})
        for name in ("one", "two")
    )
    async with open_network(one) as first, open_network(two) as second:
        items = (Organization(name="Acme"), MODEL, APPLICATION, WIDGET)
        await first.network.configuration.change("test", [build_save(item) for item in items])
        await change(first, TREE)
        await until(second, ["w"])
        opened = await second.network.models.load(MODEL.gcid)
        await change(first, ModelChange(nodes=(Node(tag="late", under="canvas", topics=("region",)),)))
        late = Attachment(id="late", service=APPLICATION.gcid, side=Side.CONSUMER, node="late")
        await change(first, ModelChange(attachments=(late,)))
        await until(second, ["w", "late"])
        await change(second, ModelChange(without_nodes=("canvas",), with_descendants=True))
        await until(first, [])
        assert await second.network.models.load(MODEL.gcid) is opened  # followed in place, not reopened
