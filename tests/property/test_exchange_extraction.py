"""Whatever the paths and the document, one look finds for each path what XPath finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from postroad.core.codecs.xml import parse
from postroad.core.exchange.match.extraction import Extraction
from postroad.core.exchange.query.parser import read_query
from postroad.core.exchange.query.syntax import QueryPath
from postroad.core.exchange.slots import DocumentSlot, SlotStep
from tests.property.test_exchange import documents, steps

NAMESPACES = {"p": "urn:p"}
ends_of = ["", "", "/@x", "/@p:x", "//@x", "/@*", "/text()", "//text()"]
paths = st.builds("".join, st.lists(steps, min_size=1, max_size=4)).flatmap(
    lambda path: st.sampled_from(ends_of).map(lambda end: path + end)
)


def slot_of(path: str) -> DocumentSlot:
    read = read_query("declare namespace p = 'urn:p'; " + path).body
    assert isinstance(read, QueryPath)
    return DocumentSlot(steps=tuple(SlotStep(kind=s.kind, descends=s.descends, name=s.name) for s in read.steps))


def by_xpath(root: Any, path: str) -> list[str]:
    found = root.xpath(path.replace("*:b", "*[local-name() = 'b']"), namespaces=NAMESPACES)
    return sorted(str(node) if isinstance(node, str) else str(node.xpath("string()")) for node in found)


@pytest.mark.req("X5")
@settings(max_examples=300, deadline=None)
@given(given_paths=st.lists(paths, min_size=1, max_size=10, unique=True), document=documents)
def test_one_look_finds_what_xpath_finds(given_paths: list[str], document: bytes) -> None:
    extraction = Extraction({number: slot_of(path) for number, path in enumerate(given_paths)})
    root = parse(document)
    for _ in range(2):  # the second time, the automaton has its states
        found = extraction.look(root)
        for number, path in enumerate(given_paths):
            assert sorted(found.get(number, [])) == by_xpath(root, path), (path, etree.tostring(root))
