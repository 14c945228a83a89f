"""The book of models: opened without holding others up, in step with what changes meanwhile, reopened where it must be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from postroad.core.hierarchy.changes import ModelChange
from postroad.core.hierarchy.model import Node
from postroad.core.hierarchy.saved_model import AT_ONCE, open_at_once
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.model_tree import node_key
from postroad.flow.administration import models as changing
from postroad.flow.administration.base import Administration
from postroad.flow.registries.configuration import DirectoryChange
from postroad.flow.registries.models import ModelRegistry
from postroad.testing.network import MemoryNetwork, memory_network

MANY = 40 * AT_ONCE


class Model:
    def __init__(self, running: MemoryNetwork, model: Caller, operator: Caller) -> None:
        assert model.service is not None
        self.network, self.gcid, self._operator = running.network, model.service.gcid, operator
        self._administration = Administration(running.network, running.passwords)

    async def add(self, *tags: str, under: str = "root") -> None:
        nodes = tuple(Node(tag=tag, under="" if tag == "root" else under, topics=("t",)) for tag in tags)
        await self.change(ModelChange(nodes=nodes))

    async def change(self, piece: ModelChange) -> None:
        await changing.change(self._administration, self._operator, self.gcid, piece, "test")

    async def forget(self, tag: str) -> None:
        """Remove a node and nothing else, as another node of the network might that has not seen what stands there."""
        change = DirectoryChange(kind="node", key=node_key(self.gcid, tag), value=None)
        await self.network.configuration.change("test", [change])

    async def is_in_step(self, book: ModelRegistry) -> bool:
        found = await book.load(self.gcid)
        again = open_at_once(self.network.directory, self.gcid).model
        if found is None or again is None:
            return found is again
        return found.describe() == again.describe()


@pytest.fixture
async def model() -> AsyncIterator[Model]:
    async with memory_network() as running:
        service = await running.register("Acme/Regions", hosted=Hosting.MODEL)
        yield Model(running, service, await running.enroll("operator@network.example", operator=True))


@pytest.mark.req("H6")
async def test_other_tasks_run_while_a_model_is_opened_and_their_changes_are_followed(model: Model) -> None:
    await model.add("root", *(f"n{number}" for number in range(MANY)))
    await model.network.models.load(model.gcid)
    book = ModelRegistry(model.network.configuration)
    opening = asyncio.create_task(book.load(model.gcid))
    turns = 0
    while not opening.done():
        turns += 1
        if turns == 2:
            late = Node(tag="late", under="n1", topics=("t",))
            await model.change(ModelChange(nodes=(late,), without_nodes=("n2",)))
            assert not opening.done()
        await asyncio.sleep(0)
    assert turns > MANY // AT_ONCE
    found = await opening
    assert found is not None
    assert (len(found), "late" in found, "n2" in found) == (MANY + 1, True, False)
    assert await model.is_in_step(book)


async def test_two_who_ask_at_once_get_the_same_model(model: Model) -> None:
    await model.add("root", *(f"n{number}" for number in range(MANY)))
    book = ModelRegistry(model.network.configuration)
    one, other = await asyncio.gather(book.load(model.gcid), book.load(model.gcid))
    assert one is other
    assert book.is_current(model.gcid, one)


async def test_the_first_nodes_and_the_last_ones_are_seen(model: Model) -> None:
    book = ModelRegistry(model.network.configuration)
    assert await book.load(model.gcid) is None
    await model.add("root", "a")
    assert await model.is_in_step(book)
    await model.change(ModelChange(without_nodes=("root",), with_descendants=True))
    assert await book.load(model.gcid) is None


async def test_what_lost_its_ground_elsewhere_is_left_out_until_it_has_some_again(model: Model) -> None:
    await model.add("root", "a")
    await model.add("b", under="a")
    book = ModelRegistry(model.network.configuration)
    assert len(await book.load(model.gcid) or ()) == 3
    await model.forget("a")
    assert len(await book.load(model.gcid) or ()) == 1
    await model.add("a")
    assert len(await book.load(model.gcid) or ()) == 3
    assert await model.is_in_step(book)
