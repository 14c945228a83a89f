"""A tree as a page shows it: everything in it can be come to, however wide or deep it is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postroad.console.model_trees import MAX_NODES, ModelBranch, ModelViewer
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.model import Node
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from postroad.flow.administration.models import VisibleModel


def wide(count: int) -> ModelIndex:
    """Two regions with many places each, and something behind them."""
    index = ModelIndex("regions", Node(tag="world"))
    for region in ("north", "south"):
        index.add_node(Node(tag=region, under="world"))
        for number in range(count):
            index.add_node(Node(tag=f"{region}-{number}", under=region))
    index.add_node(Node(tag="last", under="world"))
    return index


def sight(index: ModelIndex) -> ModelViewer:
    model = Service(gcid="1" * 16, organization="Acme", name="Regions")
    looked = VisibleModel(service=model, index=index, all_of_it=True)
    return ModelViewer(caller=Caller(service=model), looked=looked, directory=Directory(), own=())


def tags(branch: ModelBranch) -> Iterator[str]:
    yield branch.tag
    for one in branch.below:
        yield from tags(one)


def pages(index: ModelIndex, tag: str) -> list[list[str]]:
    found, after = [], ""
    while True:
        branch, after = sight(index).branch(index, tag, after)
        found.append(list(tags(branch)))
        if not after:
            return found


@pytest.mark.parametrize("count", [1, MAX_NODES // 2 - 2, MAX_NODES - 1, MAX_NODES, MAX_NODES * 2 + 3])
def test_page_after_page_shows_every_node(count: int) -> None:
    index = wide(count)
    found = pages(index, "world")
    assert list(dict.fromkeys(tag for page in found for tag in page)) == [node.tag for node in index.tree]
    assert all(len(page) <= MAX_NODES + 3 for page in found)  # and the way to where the page begins


def test_a_later_page_begins_with_the_way_to_its_first_node() -> None:
    second = pages(wide(MAX_NODES * 2), "world")[1]
    assert second[:3] == ["world", "north", f"north-{MAX_NODES - 2}"]
    assert second[3] == f"north-{MAX_NODES - 1}"


def test_a_branch_ends_where_the_next_begins_and_begins_anew_behind_what_is_elsewhere() -> None:
    index = wide(3)
    assert pages(index, "north") == [["north", "north-0", "north-1", "north-2"]]
    for elsewhere in ("south-1", "nowhere", ""):
        assert list(tags(sight(index).branch(index, "north", elsewhere)[0])) == pages(index, "north")[0]
