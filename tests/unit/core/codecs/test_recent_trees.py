"""A document that was parsed a moment ago is not parsed again, unless keeping it would cost too much."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from postroad.core.codecs import recent_trees
from postroad.core.codecs.recent_trees import LARGEST, tree_of
from postroad.core.codecs.xml import Tree
from postroad.core.codecs.xml_names import SMALL
from postroad.core.model.message import Part
from postroad.core.model.rule import MessageSection, ValueLocation
from postroad.core.routing.conditions.documents import MessageDocuments
from postroad.core.routing.paths.xml_path import read_xml_path
from postroad.errors import Refused
from postroad.services.exchange.binding_matches import build_incoming


def test_the_same_bytes_are_parsed_once() -> None:
    assert tree_of(b"<order><n>1</n></order>") is tree_of(bytes(bytearray(b"<order><n>1</n></order>")))
    assert tree_of(b"<order><n>2</n></order>") is not tree_of(b"<order><n>1</n></order>")


@pytest.mark.req("X5")
def test_one_parse_serves_rules_and_bindings() -> None:
    part = Part(id="1", content_type="application/xml", data=b"<order><region>north</region></order>")
    place, path = ValueLocation(where=MessageSection.BODY, path="/order/region"), read_xml_path("/order/region", {})
    assert MessageDocuments((part,)).xml(place, path, lambda *_: None).texts == ("north",)
    before = recent_trees._small.own.cache_info().misses
    assert build_incoming(part, {}).root()[0].text == "north"
    assert recent_trees._small.own.cache_info().misses == before


def tree_elsewhere(document: bytes) -> Tree:
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(tree_of, document).result()


def test_the_tree_of_a_small_document_is_shown_to_no_other_thread() -> None:
    """Whoever looks into it uses the names with which its thread may be reading the next one."""
    small, larger = b"<small/>", b"<a>" + b"x" * SMALL + b"</a>"
    assert tree_elsewhere(small) is not tree_of(small)
    assert tree_elsewhere(larger) is tree_of(larger)


def test_what_is_large_is_not_kept() -> None:
    large = b"<a>" + b"x" * LARGEST + b"</a>"
    assert tree_of(large) is not tree_of(large)


def test_what_cannot_be_parsed_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(Refused):
            tree_of(b"<a>")
