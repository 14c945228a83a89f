"""Whatever a message holds, scripts see it: JSON as Python reads it, XML as the tree has it, header items as they are."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from postroad.adapters.confined.frames import SourceAnswers, encode_frame
from postroad.adapters.scripts.engine import StarlarkEngine
from postroad.adapters.scripts.frames import ScriptBatch, ScriptMessage, read_asked
from postroad.adapters.scripts.scripts import read_content, to_starlark_headers
from postroad.ports import ItemValue

ENGINE = StarlarkEngine()
AMPLE = 100_000_000
SEEN_XML = """
def seen(element):
    return [element.name, element.namespace, element.attributes, element.text, [seen(one) for one in element.children]]

def route(message):
    return seen(message.xml)
"""

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)

names = st.sampled_from(["a", "b", "Line", "é", "{urn:x}a", "{urn:y}b"])
characters = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8)


@st.composite
def trees(draw: st.DrawFn, depth: int = 3) -> etree._Element:
    element = etree.Element(draw(names), draw(st.dictionaries(names, characters, max_size=2)))
    element.text = draw(characters)
    for _ in range(draw(st.integers(0, 3)) if depth else 0):
        child = draw(st.just(etree.Comment("c")) | trees(depth - 1)) if depth > 1 else draw(trees(0))
        child.tail = draw(characters)
        element.append(child)
    return element


def plain(element: etree._Element) -> list[object]:
    """What a script should see of it, told another way."""
    name = etree.QName(element)
    own = "".join([element.text or "", *(child.tail or "" for child in element)])
    below = [plain(child) for child in element.iterchildren("*")]
    return [name.localname, name.namespace or "", dict(element.items()), own, below]


def asked(script: str, message: ScriptMessage) -> object:
    batch = read_asked(encode_frame(ScriptBatch(scripts=(script,), message=message, output_limit=AMPLE))[4:])
    assert isinstance(batch, ScriptBatch)
    outcome = ENGINE.answer(batch)
    assert isinstance(outcome, SourceAnswers)
    [answer] = outcome.answers
    assert answer.kind == "json", answer
    return json.loads(answer.text)


@given(values)
@settings(max_examples=150)
def test_json_is_what_python_reads(value: object) -> None:
    content = json.dumps(value, ensure_ascii=False).encode()
    message = read_content(content, "application/json")
    assert asked("def route(message): return [message.json]", message) == [value]


@given(trees())
@settings(max_examples=100, deadline=None)
def test_xml_is_what_the_tree_has(tree: etree._Element) -> None:
    content = etree.tostring(tree, encoding="utf-8")
    parsed = etree.fromstring(content)
    assert asked(SEEN_XML, read_content(content, "application/xml")) == plain(parsed)


@given(st.dictionaries(texts, st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts | st.lists(texts, max_size=3)))
@settings(max_examples=100)
def test_header_items_are_what_they_are(items: dict[str, ItemValue]) -> None:
    assert asked("def route(message): return [message.headers]", ScriptMessage(headers=to_starlark_headers(items))) == [
        items
    ]
