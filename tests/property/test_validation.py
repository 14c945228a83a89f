"""The validating workers' judges against others: libxml2 over the whole tree, and jsonschema, on schemas and documents made up.

What the judges do to be quick or to be stopped in time (looking while parsing, linear patterns) must not change a verdict.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from postroad.adapters.validation.json_judge import JsonJudge
from postroad.adapters.validation.xml_judges import XsdJudge

# ---- XML Schema

XS = 'xmlns:xs="http://www.w3.org/2001/XMLSchema"'
SHORT = '<xs:simpleType name="short"><xs:restriction base="xs:string"><xs:maxLength value="1"/></xs:restriction></xs:simpleType>'
UNIQUE = '<xs:unique name="u"><xs:selector xpath=".//b"/><xs:field xpath="@a"/></xs:unique>'
FITTING = {
    "xs:string": ["", "x", "x y"], "xs:integer": ["1", " 1 ", "-7"], "xs:date": ["2026-11-16"], "xs:boolean": ["true", "1"],
    "xs:ID": ["x", "y"], "xs:IDREF": ["x", "y"], "xs:QName": ["x", "p:x"], "xs:NMTOKENS": ["x y", "1"], "short": ["", "x"],
}  # fmt: skip
TYPES = st.sampled_from(sorted(FITTING))
OFTEN_IDS = st.just("xs:ID") | TYPES
NO_IDS = st.sampled_from(sorted(FITTING.keys() - {"xs:ID"}))
WRITTEN: list[Callable[[str], str]] = [str, "<![CDATA[{}]]>".format, "<!-- 1 -->{}".format, "{}<?a b?>".format]
OCCURS = {
    "": [1, 1, 1, 0],
    ' minOccurs="0"': [0, 1, 2],
    ' maxOccurs="2"': [1, 2, 3],
    ' minOccurs="0" maxOccurs="9"': [0, 3],
}


def value(draw: st.DrawFn, kind: str) -> str:
    """Of its type nine times out of ten."""
    return draw(st.sampled_from(FITTING[kind if draw(st.integers(0, 9)) else "xs:string"]))


def attributes(draw: st.DrawFn) -> tuple[str, Callable[[], str]]:
    """Declarations, and what makes up attributes for one element."""
    names = draw(st.lists(st.sampled_from("ab"), max_size=2, unique=True))
    kinds = {name: draw(OFTEN_IDS if name == "a" else NO_IDS) for name in names}  # of ids an element has one
    required = draw(st.booleans())
    use = ' use="required"' if required else ""
    declared = "".join(f'<xs:attribute name="{name}" type="{kind}"{use}/>' for name, kind in kinds.items())

    def made_up() -> str:
        there = [name for name in kinds if required or draw(st.booleans())]
        return "".join(f' {name}="{value(draw, kinds[name])}"' for name in there)

    return declared, made_up


def content(draw: st.DrawFn, depth: int) -> tuple[str, Callable[[], str]]:
    """A sequence or choice, and what makes up the content of one element."""
    kind = draw(st.sampled_from(["sequence", "sequence", "choice"]))
    parts = [element(draw, name, depth) for name in "abc"[: draw(st.integers(1, 3))]]

    def made_up() -> str:
        chosen = parts if kind == "sequence" else [draw(st.sampled_from(parts))]
        return "".join(part() for _, part in chosen)

    return f"<xs:{kind}>{''.join(declared for declared, _ in parts)}</xs:{kind}>", made_up


def element(draw: st.DrawFn, name: str, depth: int) -> tuple[str, Callable[[], str]]:
    """A declaration, and what makes up as many such elements as there may be, or nearly."""
    occurs = draw(st.sampled_from(sorted(OCCURS)))
    counts = st.sampled_from(OCCURS[occurs])
    if depth and draw(st.booleans()):
        inner, make_inner = content(draw, depth - 1)
        declared, make_attributes = attributes(draw)
        text = f'<xs:element name="{name}"{occurs}><xs:complexType>{inner}{declared}</xs:complexType></xs:element>'
        return text, lambda: "".join(f"<{name}{make_attributes()}>{make_inner()}</{name}>" for _ in range(draw(counts)))
    kind = draw(TYPES)
    written = draw(st.sampled_from(WRITTEN))
    text = f'<xs:element name="{name}" type="{kind}"{occurs}/>'
    return text, lambda: "".join(f"<{name}>{written(value(draw, kind))}</{name}>" for _ in range(draw(counts)))


@st.composite
def judged(draw: st.DrawFn) -> tuple[str, str]:
    """A schema, and a document that may be valid by it."""
    inner, make_inner = content(draw, 2)
    declared, make_attributes = attributes(draw)
    unique = UNIQUE if draw(st.booleans()) else ""
    root = f'<xs:element name="root"><xs:complexType>{inner}{declared}</xs:complexType>{unique}</xs:element>'
    return (
        f"<xs:schema {XS}>{SHORT}{root}</xs:schema>",
        f'<root xmlns:p="urn:p"{make_attributes()}>{make_inner()}</root>',
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(judged())
def test_a_document_is_valid_for_the_judge_if_it_is_for_libxml2(both: tuple[str, str]) -> None:
    schema, document = both
    alone = etree.XMLSchema(etree.fromstring(schema))
    expected = alone.validate(etree.fromstring(document))
    assert (XsdJudge("a", {"a": schema}).faults(document.encode()) == []) is expected


# ---- JSON Schema

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, "", "a", "ab", "1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=6,
)


def json_schemas() -> st.SearchStrategy[Any]:
    keywords = st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"]),
            "enum": st.lists(VALUES, min_size=1, max_size=3),
            "const": VALUES,
            "minimum": st.integers(-2, 2),
            "exclusiveMaximum": st.integers(-2, 2),
            "multipleOf": st.sampled_from([1, 2, 0.5]),
            "minLength": st.integers(0, 2),
            "pattern": st.sampled_from(["^a", "b$", "[0-9]+"]),
            "maxItems": st.integers(0, 2),
            "uniqueItems": st.booleans(),
            "required": st.lists(st.sampled_from(["a", "b"]), unique=True, max_size=2),
            "maxProperties": st.integers(0, 1),
        },
    )

    def with_inner(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        nested = st.fixed_dictionaries(
            {},
            optional={
                "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
                "additionalProperties": inner,
                "items": inner,
                "prefixItems": st.lists(inner, min_size=1, max_size=2),
                "contains": inner,
                "not": inner,
                "allOf": st.lists(inner, min_size=1, max_size=2),
                "anyOf": st.lists(inner, min_size=1, max_size=2),
                "oneOf": st.lists(inner, min_size=1, max_size=2),
                "if": inner,
                "then": inner,
                "unevaluatedProperties": inner,
            },
        )
        return st.builds(lambda one, other: one | other, keywords, nested)

    return st.recursive(st.booleans() | keywords, with_inner, max_leaves=5)


@settings(max_examples=150, deadline=None)
@given(json_schemas(), VALUES)
def test_a_document_is_valid_for_the_judge_if_it_is_for_jsonschema(schema: Any, value: Any) -> None:
    judge = JsonJudge("a", {"a": json.dumps(schema)})
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (judge.faults(json.dumps(value).encode()) == []) is expected
