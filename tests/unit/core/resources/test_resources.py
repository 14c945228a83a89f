"""Resources can be read as objects and as JSON objects, from older and newer networks."""

from __future__ import annotations

import msgspec
import pytest

from postroad.core.hierarchy.model import Node
from postroad.core.resources.base import build_resource
from postroad.core.resources.bindings import BindingPage, BindingState
from postroad.core.resources.messages import FoundPage, FoundServiceView
from postroad.core.resources.models import NodePage, NodeSummary, NodeView

STATE = BindingState(standing="always", explanation="always evaluated", matched=3, matched_at=None, errors=0)


def test_a_field_is_an_attribute_and_an_item_by_its_name_in_json() -> None:
    assert STATE["matchedAt"] is STATE.matched_at
    assert (STATE["matched"], STATE.get("matched"), STATE.get("nothing", 7)) == (3, 3, 7)
    assert ("matchedAt" in STATE, "matched_at" in STATE) == (True, False)
    with pytest.raises(KeyError):
        STATE["matched_at"]


def test_a_resource_becomes_the_dict_of_its_json() -> None:
    assert dict(STATE) == msgspec.json.decode(msgspec.json.encode(STATE))


def test_a_resource_takes_the_fields_of_the_model_that_are_not_computed() -> None:
    node = Node(tag="canvas", under="root", topics=("orders",))
    assert build_resource(NodeSummary, node, topics=["a"]) == NodeSummary(tag="canvas", under="root", topics=["a"])
    with pytest.raises(AttributeError):
        build_resource(NodeView, node)
    with pytest.raises(TypeError):
        build_resource(NodeSummary, node, topic="a")


def test_the_kind_of_one_of_several_is_an_item() -> None:
    found = FoundServiceView(gcid="0" * 16, address="A/b", by=["address"])
    assert (found["kind"], "kind" in found) == ("service", True)
    assert dict(found) == msgspec.json.decode(msgspec.json.encode(found))
    [read] = msgspec.json.decode(msgspec.json.encode(FoundPage(items=[found])), type=FoundPage).items
    assert read == found


def test_the_last_page_has_no_next() -> None:
    page = NodePage(items=[NodeSummary(tag="a", under="", topics=[])])
    assert msgspec.json.encode(page) == b'{"items":[{"tag":"a","under":"","topics":[]}]}'
    assert msgspec.json.decode(b'{"items":[],"next":"c"}', type=NodePage) == NodePage(items=[], next="c")


def test_unknown_fields_of_a_newer_network_are_ignored() -> None:
    page = msgspec.json.decode(b'{"items":[],"total":4}', type=BindingPage)
    assert page.items == []
