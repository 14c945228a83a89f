"""The header's items: every property that a message may carry is a variable of its type."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from postroad.core.codecs.lexical import read_property
from postroad.core.codecs.limits import WireLimits
from postroad.core.exchange.header_items import TypedItem, header_items
from postroad.core.model.message import Property, PropertyType

MOMENT = datetime(2026, 11, 16, 10, tzinfo=UTC)


@pytest.mark.req("X3")
@pytest.mark.parametrize(
    ("kind", "text", "item"),
    [
        (PropertyType.NUMBER, "12", 12),
        (PropertyType.NUMBER, "-0", 0),
        (PropertyType.NUMBER, "12.50", Decimal("12.50")),
        (PropertyType.NUMBER, "1e5", 100_000),
        (PropertyType.NUMBER, "1e-5", Decimal("0.00001")),
        (PropertyType.NUMBER, "1E+0000003", 1_000),
        (PropertyType.NUMBER, "-1e999999999", float("-inf")),  # as a whole number it would fill the memory
        (PropertyType.NUMBER, "1e99999999999999999999", float("inf")),
        (PropertyType.NUMBER, "1e-99999999999999999999", 0.0),
        (PropertyType.DATE, "2026-11-16", date(2026, 11, 16)),
        (PropertyType.DATE, "2026-11-16T10:00:00Z", MOMENT),
        (PropertyType.DATE, "2026-11-16t10:00:00.000000000z", MOMENT),
        (PropertyType.BOOLEAN, "1", True),
        (PropertyType.STRING, "1e999999999", "1e999999999"),
    ],
)
def test_whatever_a_message_may_carry_is_an_item_of_its_type(kind: PropertyType, text: str, item: TypedItem) -> None:
    accepted = read_property(text, kind, "/properties", WireLimits())
    found = header_items([Property("x", accepted, kind)])["x"]
    assert (type(found), found) == (type(item), item)


def test_what_the_network_says_comes_before_a_property_of_that_name() -> None:
    items = header_items([Property("sender", "somebody else"), Property("topic", "t")], topic="orders", sender="A/B")
    assert (items["sender"], items["topic"], items["routing_key"]) == ("A/B", "orders", "orders")
