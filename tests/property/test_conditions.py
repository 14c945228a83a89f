"""Random conditions on random documents: two evaluators and XPath agree, and explanations claim nothing false."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from postroad.core.model.message import Part
from postroad.core.model.rule import (
    Combination,
    Combining,
    Comparing,
    Condition,
    MessageSection,
    ValueComparison,
    ValueLocation,
    ValueType,
)
from postroad.core.routing.conditions.compiled_rule import compile_condition
from postroad.core.routing.conditions.place_content import MAX_SHOWN, SHOWN_CHARS
from postroad.core.routing.conditions.subject import NamedService, RuleHeader, Subject
from postroad.core.routing.explain.condition_text import explain_condition
from tests.property.naive_conditions import Element, Node, Step, combine, follow, follow_json, judge

NAMESPACES = {"urn:n": "n"}
WORDS = ["a", "b", "c"]
TEXTS = [
    "",
    " ",
    "x",
    "y",
    "1",
    "1.0",
    " 2 ",
    "10",
    "-3",
    "2026-01-02",
    "2026-01-02T00:00:00Z",
    "2026-01-02T01:00:00+02:00",
]
KINDS = st.sampled_from(["string", "number", "date"])
TYPED = {
    "string": [text for text in TEXTS if text],
    "number": ["1", "2.00", "10", "-3"],
    "date": ["2026-01-02", "2026-01-01T23:00:00Z"],
}

names = st.tuples(st.sampled_from(["", "urn:n"]), st.sampled_from(WORDS))
attributes = st.dictionaries(st.sampled_from(WORDS), st.sampled_from(TEXTS), max_size=2)
leaves = st.builds(Element, names, attributes, st.sampled_from(TEXTS).map(lambda text: [text] if text else []))


def _parents(inner: st.SearchStrategy[Element]) -> st.SearchStrategy[Element]:
    """Elements with others inside, now and then with white space or text between them."""
    between = st.lists(st.tuples(inner, st.sampled_from(["", "", "\n  ", "t"])), min_size=1, max_size=4)
    filled = between.map(lambda pairs: [part for pair in pairs for part in pair if part != ""])
    return st.builds(Element, names, attributes, filled)


trees = st.recursive(leaves, _parents, max_leaves=6)


def spaced(element: Element) -> list[Element | str]:
    """The same content as another writer would have laid it out."""
    copied = [
        Element(part.name, part.attributes, spaced(part)) if isinstance(part, Element) else part
        for part in element.inside
    ]
    if not element.children:
        return copied
    loose = [part for part in copied if isinstance(part, Element) or part.strip()]
    laid: list[Element | str] = []
    for part in loose:
        if laid and isinstance(laid[-1], Element) and isinstance(part, Element):
            laid.append("\n")  # never beside a text, which would then be another one
        laid.append(part)
    return laid


@st.composite
def roots(draw: st.DrawFn) -> Element:
    """A document; often one in which something stands twice, laid out in two ways."""
    tree = draw(trees)
    if draw(st.booleans()):
        return tree
    return Element(("", "a"), {}, [tree, Element(draw(names), {}, spaced(tree)), draw(leaves)])


documents = roots()
predicates = st.one_of(
    st.tuples(st.just("position"), st.integers(1, 3)),
    st.just(("last",)),
    st.tuples(st.just("attribute"), st.sampled_from(WORDS), st.sampled_from(TEXTS)),
    st.tuples(st.just("child"), st.sampled_from(WORDS), st.sampled_from(TEXTS)),
)


@st.composite
def xml_paths(draw: st.DrawFn, root: Element) -> list[Step]:
    """A path that was walked in this document, and may have been changed on the way."""
    steps: list[Step] = []
    here, descends = root, False
    while True:
        namespace, local = draw(
            st.sampled_from([here.name, here.name, (None, None), (here.name[0] or None, None), ("urn:n", "a")])
        )
        rarely = st.lists(predicates, max_size=2) if draw(st.integers(0, 3)) == 0 else st.just([])
        skipped = draw(st.integers(0, 5)) == 0 and sum(step.descends for step in steps) < 2
        if not skipped or not here.children:
            steps.append(Step(descends, "element", namespace, local, tuple(draw(rarely))))
        descends = skipped and bool(here.children)
        if not here.children or (len(steps) and not descends and draw(st.integers(0, 2)) == 0):
            break
        here = draw(st.sampled_from(here.children))
    end = draw(st.sampled_from(["element", "element", "attribute", "text"]))
    if end != "element":
        local = draw(st.sampled_from([None, *WORDS])) if end == "attribute" else None
        steps.append(Step(draw(st.booleans()), end, None, local))
    return steps


def written(steps: list[Step]) -> str:
    return "".join(step.written(NAMESPACES) for step in steps)


def xml_nodes(root: Element, steps: list[Step]) -> list[Node]:
    found = follow(root, steps)
    return [
        Node(text=node)
        if isinstance(node, str)
        else Node(content=node.meaning())
        if node.children
        else Node(text=node.text)
        for node in found
    ]


scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 10), st.sampled_from(TEXTS), st.sampled_from([1.0, 2.5]))
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*WORDS, "odd name"]), inner, max_size=3)
    ),
    max_leaves=8,
)
ODD = [*WORDS, "odd name"]


def turned(value: Any) -> Any:
    """The same value with the members of its objects in another order."""
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)}
    return [turned(inner) for inner in value] if isinstance(value, list) else value


twofold = st.builds(lambda one, other: {"a": one, "b": turned(one), "c": other}, values, values)


@st.composite
def json_paths(draw: st.DrawFn, value: Any) -> list[tuple[str, Any]]:
    """A path that was walked in this value, and may have been changed on the way."""
    steps: list[tuple[str, Any]] = []
    while isinstance(value, (dict, list)) and value and draw(st.integers(0, 3)):
        key = draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
        exactly = ("name", key) if isinstance(value, dict) else ("number", key)
        other = [("all", None), ("below", draw(st.sampled_from(ODD)))]
        step = draw(st.sampled_from([exactly, exactly, exactly, *other]))
        steps.append(step if step[0] != "below" or sum(kind == "below" for kind, _ in steps) < 3 else exactly)
        value = value[key]
    return steps


def written_json(steps: list[tuple[str, Any]]) -> str:
    forms = {"name": "['{}']", "below": "..['{}']", "number": "[{}]", "all": "[*]"}
    return "$" + "".join(forms[kind].format(what) for kind, what in steps)


def json_nodes(root: Any, steps: list[tuple[str, Any]]) -> list[Node]:
    return [
        Node(content=_told_apart(node)) if isinstance(node, (dict, list)) else Node(text=_characters(node))
        for node in follow_json(root, steps)
    ]


def _told_apart(value: Any) -> Any:
    """JSON as Python compares it wrongly (True == 1) made comparable."""
    if isinstance(value, dict):
        return {name: _told_apart(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_told_apart(inner) for inner in value]
    return (type(value).__name__ if not isinstance(value, (int, float)) or isinstance(value, bool) else "number", value)


def _characters(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


Case = tuple[Condition, bool]


@st.composite
def cases(draw: st.DrawFn, root: Element, value: Any) -> Case:
    """A condition, and what the naive evaluator says about it."""
    if draw(st.integers(0, 2)) == 0:
        operator = draw(st.sampled_from(["and", "or", "xor", "not"]))
        inner = [draw(cases(root, value)) for _ in range(1 if operator == "not" else draw(st.integers(1, 3)))]
        condition = Combination(operator=Combining(operator), conditions=tuple(one for one, _ in inner))
        return condition, combine(operator, [answer for _, answer in inner])
    operator = draw(st.sampled_from([item.value for item in Comparing if item is not Comparing.MATCHES]))
    kind = draw(KINDS)
    place, nodes = draw(places(root, value))
    if operator == "exists":
        return ValueComparison(operator=Comparing.EXISTS, place=place), bool(nodes)
    if draw(st.integers(0, 2)) == 0:
        other, others = draw(places(root, value))
        made = ValueComparison(operator=Comparing(operator), place=place, type=ValueType(kind), other=other)
        return made, judge(operator, kind, nodes, others)
    wanted = draw(st.lists(st.sampled_from(TYPED[kind]), min_size=1, max_size=2 if operator == "equalsOneOf" else 1))
    made = ValueComparison(operator=Comparing(operator), place=place, type=ValueType(kind), values=tuple(wanted))
    return made, judge(operator, kind, nodes, [Node(text=text) for text in wanted])


@st.composite
def places(draw: st.DrawFn, root: Element, value: Any) -> tuple[ValueLocation, list[Node]]:
    if draw(st.booleans()):
        steps = draw(xml_paths(root))
        namespaces = tuple((prefix, uri) for uri, prefix in NAMESPACES.items())
        return ValueLocation(where=MessageSection.BODY, path=written(steps), namespaces=namespaces), xml_nodes(
            root, steps
        )
    way = draw(json_paths(value))
    return ValueLocation(where=MessageSection.ATTACHMENT, path=written_json(way)), json_nodes(value, way)


def looked_at(root: Element, value: Any) -> Subject:
    parts = (
        Part(id="1", content_type="application/xml", data=root.markup().encode()),
        Part(id="2", content_type="application/json", data=json.dumps(value).encode(), attachment=True),
    )
    return Subject(header=RuleHeader(sender=NamedService(address="A/b")), parts=parts)


def was_cut(subject: Subject) -> bool:
    return any(
        len(texts) > MAX_SHOWN or any(len(text) > SHOWN_CHARS for text in texts) for texts in subject.seen.values()
    )


@pytest.mark.req("R2", "R16")
@given(data=st.data(), root=documents, value=values | twofold)
@settings(max_examples=1000, deadline=None)
def test_two_evaluators_agree_and_explanations_tell_what_was(data: st.DataObject, root: Element, value: Any) -> None:
    subject = looked_at(root, value)
    for _ in range(4):
        condition, expected = data.draw(cases(root, value))
        assert compile_condition(condition)(subject) is expected
        held = explain_condition(condition, subject.seen).held
        assert held is expected or (held is None and was_cut(subject))
    assert subject.faults == ()


def xpath_texts(root: Element, path: str) -> list[str]:
    found: Any = etree.fromstring(root.markup()).xpath(path, namespaces={"n": "urn:n"})
    return sorted(
        str(node) if isinstance(node, str) else node.text or ""
        for node in found
        if isinstance(node, str) or not len(node)
    )


@pytest.mark.req("R2")
@given(data=st.data(), root=documents)
@settings(max_examples=1000, deadline=None)
def test_paths_mean_what_they_mean_in_xpath(data: st.DataObject, root: Element) -> None:
    steps = data.draw(xml_paths(root))
    steps = [
        Step(s.descends, s.kind, s.namespace, s.local, tuple(p for p in s.predicates if p[0] != "child")) for s in steps
    ]  # XPath compares an element with all text inside of it, rules only with character data
    place = ValueLocation(where=MessageSection.BODY, path=written(steps), namespaces=(("n", "urn:n"),))
    values = looked_at(root, None).values(place)
    assert sorted(value.text for value in values if not value.elements) == xpath_texts(root, written(steps))


def same(one: str, other: str, where: MessageSection) -> ValueComparison:
    return ValueComparison(
        operator=Comparing.EQUALS,
        place=ValueLocation(where=where, path=one),
        other=ValueLocation(where=where, path=other),
    )


@pytest.mark.req("R2")
@given(tree=trees, value=values, different=values)
@settings(max_examples=400, deadline=None)
def test_contents_are_equal_when_they_mean_the_same(tree: Element, value: Any, different: Any) -> None:
    twin = Element(tree.name, tree.attributes, spaced(tree))
    root = Element(("", "r"), {}, [Element(("", "one"), {}, [tree, "\n"]), Element(("", "two"), {}, [twin])])
    subject = looked_at(root, {"a": [value], "b": [turned(value)], "c": [different]})
    assert compile_condition(same("/r/one", "/r/two", MessageSection.BODY))(subject)
    assert compile_condition(same("$.a", "$.b", MessageSection.ATTACHMENT))(subject)
    assert compile_condition(same("$.a", "$.c", MessageSection.ATTACHMENT))(subject) is (
        _told_apart(value) == _told_apart(different)
    )
