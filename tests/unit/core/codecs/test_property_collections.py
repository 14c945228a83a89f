"""Properties that hold several values: posted in every form, the same in all of them, and seen by bindings and rules."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from postroad.adapters.saxon.queries import to_typed_items
from postroad.client.compose import make_property
from postroad.core.codecs.codec import Codec
from postroad.core.codecs.envelope import ENVELOPE_FORM
from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.exchange.header_items import header_items
from postroad.core.exchange.match.matcher import MatchableMessage, Matcher
from postroad.core.model.message import Message, Property, PropertyType, Recipient
from postroad.errors import Refused
from tests.samples.conditions import HEADER, compare, header, holds, subject

TAGS = Property("tags", '["red","a \\"b\\"",12.50,true,{"date":"2026-12-01"}]', PropertyType.ARRAY)
SIZES = Property("sizes", "[5,7]", PropertyType.SEQUENCE)
NONE = Property("none", "[]", PropertyType.ARRAY)


@pytest.mark.req("X3", "M2")
@pytest.mark.parametrize("codec", [JSON_FORM, SOAP11, SOAP12, ENVELOPE_FORM], ids=lambda one: type(one).__name__)
def test_arrays_and_sequences_pass_every_form(codec: Codec) -> None:
    message = Message(to=(Recipient("Acme/Supply"),), properties=(TAGS, SIZES, NONE))
    assert codec.decode_post(codec.encode_post(message)).properties == message.properties


@pytest.mark.req("X3")
def test_json_writes_them_as_json_does() -> None:
    body = b'{"to": ["A/B"], "properties": {"tags": [ "red", 5 ], "sizes": {"sequence": [5, 7]}}}'
    found = JSON_FORM.decode_post(body).properties
    assert found == (Property("tags", '["red",5]', PropertyType.ARRAY), SIZES)


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    "value",
    ['[["nested"]]', "[null]", '[{"date": "never"}]', "[1,]", '{"sequence": 5}', "[" + "1," * 100 + "1]",
     '{"date": "2026-12-01", "sequence": []}'],
)  # fmt: skip
def test_what_is_no_array_of_single_values_is_refused(value: str) -> None:
    with pytest.raises(Refused, match=r"wire\.malformed"):
        JSON_FORM.decode_post(b'{"to": ["A/B"], "properties": {"x": %s}}' % value.encode())


@pytest.mark.req("X3")
def test_for_a_query_they_are_elements_of_the_kind_of_collection() -> None:
    items = header_items([TAGS, SIZES])
    assert items["tags"] == ["red", 'a "b"', Decimal("12.50"), True, date(2026, 12, 1)]
    assert to_typed_items(items)["sizes"] == ("xml", "<sequence><item>5</item><item>7</item></sequence>")
    assert to_typed_items(items)["tags"][1].startswith("<array><item>red</item>")
    matcher = Matcher()
    matcher.bind("red", "$tags/item = 'red'")
    message = MatchableMessage(headers=items, content=b"<a/>", root=lambda: None)  # type: ignore[arg-type, return-value]
    assert matcher.match(message).candidates == {"red"}, "the engine looks into the element"


@pytest.mark.req("R2")
def test_a_rule_looks_at_each_item() -> None:
    about = subject(header=HEADER.__class__(sender=HEADER.sender, properties=(TAGS, SIZES)))
    assert holds(compare("equals", header("properties.tags"), "red"), about)
    assert holds(compare("greaterThan", header("properties.sizes"), "6", kind="number"), about)
    assert not holds(compare("equals", header("properties.sizes"), "6", kind="number"), about)


@pytest.mark.req("K1")
def test_the_sdk_takes_lists_and_tuples() -> None:
    assert make_property("tags", ["red", 'a "b"', Decimal("12.50"), True, date(2026, 12, 1)]) == TAGS
    assert make_property("sizes", (5, 7)) == SIZES
