"""Pieces of changes: what they come to, and why they are refused; and models read page by page."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.core.hierarchy.changes import ModelChange, resolve_change
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.inspection import path_to, preview_from_service, read_attachments_page, read_nodes_page
from postroad.core.hierarchy.model import Attachment, Model, Node, Side, Strategy, Way
from postroad.core.hierarchy.model_checks import MAX_DEPTH
from postroad.errors import Refused

TOPICS = ("region",)


def node(tag: str, under: str = "", *topics: str) -> Node:
    return Node(tag=tag, under=under, topics=topics or TOPICS)


def at(tag: str, id: str = "c", side: Side = Side.CONSUMER, *topics: str) -> Attachment:
    return Attachment(id=id, service=f"service of {id}", side=side, node=tag, topics=topics)


@pytest.fixture
def index() -> ModelIndex:
    nodes = (node("root"), node("a", "root"), node("a1", "a"), node("b", "root"))
    return ModelIndex.of(Model(name="Places", nodes=nodes, attachments=(at("a1", "c", Side.CONSUMER, "region"),)))


def refusal(index: ModelIndex | None, **piece: Any) -> str:
    with pytest.raises(Refused) as caught:
        resolve_change(index, ModelChange(**piece))
    return caught.value.detail


@pytest.mark.parametrize(
    ("piece", "said"),
    [
        ({"nodes": (node("x", "nowhere"),)}, "no node 'nowhere'"),
        ({"nodes": (node("x"),)}, "'root' is already the root"),
        ({"nodes": (node("x", "a"), node("x", "b"))}, "already has a node 'x'"),
        ({"nodes": (node("a", "a1"),)}, "which is itself or below it"),
        ({"nodes": (node("b", "a"), node("a", "b"))}, "which is itself or below it"),
        ({"nodes": (node("root", "a"),)}, "is the root and cannot"),
        ({"nodes": (node("a"),)}, "is the root and cannot"),
        ({"nodes": (node("a1", "a", "weather"),)}, "is attached to topic 'region' of 'a1'"),
        ({"nodes": (node("a b/c", "a"),)}, "is not allowed"),
        ({"nodes": (node("b", "root"),), "without_nodes": ("b",)}, "removed in the same change set"),
        ({"without_nodes": ("a",)}, "other nodes are under 'a'"),
        ({"without_nodes": ("root",)}, "is the root and cannot"),
        ({"without_nodes": ("nowhere",)}, "no node 'nowhere'"),
        ({"without_attachments": ("x",)}, "no attachment is named 'x'"),
        ({"without_attachments": ("c", "c")}, "no attachment is named 'c'"),
        ({"attachments": (at("nowhere"),)}, "no node 'nowhere'"),
        ({"attachments": (at("b", "x"),), "without_nodes": ("b",)}, "no node 'b'"),
        ({"attachments": (at("a", "x", Side.PRODUCER, "weather"),)}, "has no topic 'weather'"),
        ({"attachments": (at("a", "x"), at("b", "x"))}, "another attachment is named 'x'"),
        ({"attachments": (at("", "x"),)}, "name the one topic"),
        ({"strategies": (("region", Strategy(way=Way.SIBLINGS, within=1)),)}, "siblings are all on one level"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_changes_nothing(index: ModelIndex, piece: dict[str, Any], said: str) -> None:
    before = index.describe()
    assert said in refusal(index, **piece)
    assert index.describe() == before


@pytest.mark.parametrize(
    "piece", [{"without_nodes": ("a",)}, {"without_attachments": ("c",)}, {"attachments": (at("", "x", Side.CONSUMER, "t"),)}]
)  # fmt: skip
def test_a_model_without_nodes_takes_only_a_root_first(piece: dict[str, Any]) -> None:
    assert refusal(None, **piece)
    assert resolve_change(None, ModelChange(nodes=(node("root"), node("a", "root")))).placed == [
        node("root"),
        node("a", "root"),
    ]


def test_a_branch_goes_with_all_that_is_attached_there(index: ModelIndex) -> None:
    found = resolve_change(index, ModelChange(without_nodes=("a", "a1")))
    assert (found.gone_nodes, [one.id for one in found.gone], len(found)) == (["a", "a1"], ["c"], 3)
    assert resolve_change(index, ModelChange(without_nodes=("a",), with_descendants=True)) == found


def test_what_changes_is_in_the_way_of_nothing_that_happens_to_its_node(index: ModelIndex) -> None:
    changed = at("a1", "c", Side.CONSUMER, "weather")
    found = resolve_change(index, ModelChange(nodes=(node("a1", "a", "weather"),), attachments=(changed,)))
    assert (found.nodes, found.attachments, found.gone) == ([node("a1", "a", "weather")], [changed], [])


def test_moves_and_additions_keep_within_the_depth_of_a_tree() -> None:
    deep = [node("n0"), *(node(f"n{level}", f"n{level - 1}") for level in range(1, MAX_DEPTH + 1))]
    index = ModelIndex.of(Model(name="Deep", nodes=(*deep, node("x", "n0"), node("x1", "x"))))
    assert "levels deep" in refusal(index, nodes=(node("y", f"n{MAX_DEPTH}"),))
    assert "levels deep" in refusal(index, nodes=(node("x", f"n{MAX_DEPTH - 1}"),))
    assert resolve_change(index, ModelChange(nodes=(node("x", f"n{MAX_DEPTH - 2}"),))).placed == [
        node("x", f"n{MAX_DEPTH - 2}")
    ]


@pytest.mark.req("H6")
def test_pages_show_everything_once_whatever_goes_meanwhile(index: ModelIndex) -> None:
    first, position = read_nodes_page(index, "", 2)
    assert [one.tag for one in first] == ["root", "a"]
    index.remove_node("a", with_descendants=True)
    rest, end = read_nodes_page(index, position, 2)
    assert ([one.tag for one in rest], end) == (["b"], "")
    for number in range(3):
        index.attach(at("b", f"at {number}"))
        index.attach(at("", f"beside {number}", Side.CONSUMER, "region"))
    seen: list[str] = []
    position = ""
    while True:
        page, position = read_attachments_page(index, position, 2)
        seen += [one.id for one in page]
        if not position:
            break
    assert seen == ["at 0", "at 1", "at 2", "beside 0", "beside 1", "beside 2"]


@pytest.mark.req("H3")
def test_of_nested_shadows_the_outermost_is_told(index: ModelIndex) -> None:
    for tag in ("root", "a", "a1"):
        index.attach(at(tag, f"p {tag}", Side.PRODUCER))
    found = preview_from_service(index, "service of p root", "region")
    assert [(tag, [one.id for one in producers]) for tag, producers in found.shadowing] == [("a", ["p a"])]
    assert (found.receivers, path_to(index, "a1"), path_to(index, "")) == ([], ["root", "a", "a1"], [])
    index.attach(Attachment(id="again", service="service of p root", side=Side.PRODUCER, node="b"))
    with pytest.raises(Refused, match=r"at several nodes \(root, b\)"):
        preview_from_service(index, "service of p root", "region")
    assert preview_from_service(index, "service of p root", "region", "b").node == "b"
