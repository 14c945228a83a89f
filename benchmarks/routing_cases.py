"""Conditions on the purchase order, each written three times: as a rule's condition, in Python by hand, and as XPath for lxml.

Rule: the three mean the same, and ``check`` proves on the order at hand that they answer the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from lxml import etree

from benchmarks.payload import RECEIVER, SENDER, purchase_order
from postroad.core.codecs.xml import Tree, parse
from postroad.core.model.message import Message, MessageType, Part, Property, PropertyType, Recipient
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
from postroad.core.routing.conditions.subject import Addressed, NamedService, RuleHeader, Subject

NAMESPACE = "urn:example:order:1"
NAMESPACES = {"o": NAMESPACE, "re": "http://exslt.org/regular-expressions"}
Q = f"{{{NAMESPACE}}}"
ORDER = Message(
    to=(Recipient(RECEIVER),),
    type=MessageType.REQUEST,
    topic="orders/new",
    handle="order-1",
    properties=(Property("amount", "1250.00", PropertyType.NUMBER),),
    parts=(Part(id="1", content_type="application/xml", data=purchase_order().encode()),),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A condition and the same by hand; one on the header has no XPath, since there is no document to look into."""

    name: str
    condition: Condition
    by_hand: Callable[[Message, Tree | None], bool]
    xpath: etree.XPath | None = None


def header(operator: Comparing, path: str, *values: str, kind: ValueType = ValueType.STRING) -> ValueComparison:
    return ValueComparison(
        operator=operator, place=ValueLocation(where=MessageSection.HEADER, path=path), values=values, type=kind
    )


def body(operator: Comparing, path: str, *values: str, kind: ValueType = ValueType.STRING) -> ValueComparison:
    place = ValueLocation(where=MessageSection.BODY, path=path, namespaces=(("o", NAMESPACE),))
    return ValueComparison(operator=operator, place=place, values=values, type=kind)


def both(*conditions: Condition) -> Combination:
    return Combination(operator=Combining.AND, conditions=conditions)


def negated(condition: Condition) -> Combination:
    return Combination(operator=Combining.NOT, conditions=(condition,))


def xpath(text: str) -> etree.XPath:
    return etree.XPath(f"boolean({text})", namespaces=NAMESPACES, smart_strings=False)


def _large(message: Message, _root: Tree | None) -> bool:
    return any(entry.name == "amount" and Decimal(entry.value) > 1000 for entry in message.properties)


def _many(_message: Message, root: Tree | None) -> bool:
    return root is not None and any(Decimal(node.text or "") > 140 for node in root.iter(f"{Q}quantity"))


def _bolt(_message: Message, root: Tree | None) -> bool:
    skus = root.findall(f"{Q}items/{Q}item[3]/{Q}sku") if root is not None else []
    return any((sku.text or "").startswith("HB-9") for sku in skus)


def _complete(_message: Message, root: Tree | None) -> bool:
    return (
        root is not None
        and root.get("placed") is not None
        and root.find(f"{Q}items/{Q}item[@line='6']") is not None
        and root.findtext(f"{Q}seller/{Q}name") != "Meadow Machines"
    )


HEADER = (
    Case(
        name="topic equals",
        condition=header(Comparing.EQUALS, "topic", "orders/new"),
        by_hand=lambda message, _: message.topic == "orders/new",
    ),
    Case(
        name="property is greater than, as a number",
        condition=header(Comparing.GREATER_THAN, "properties.amount", "1000", kind=ValueType.NUMBER),
        by_hand=_large,
    ),
    Case(
        name="type and topic, and no status",
        condition=both(
            header(Comparing.EQUALS, "type", "request"),
            header(Comparing.MATCHES, "topic", "^orders/"),
            negated(header(Comparing.EXISTS, "status.code")),
        ),
        by_hand=lambda message, _: (
            message.type is MessageType.REQUEST and message.topic.startswith("orders/") and message.status is None
        ),
    ),
    Case(
        name="topic equals one of three (it does not)",
        condition=header(Comparing.EQUALS_ONE_OF, "topic", "invoices", "returns", "orders/old"),
        by_hand=lambda message, _: message.topic in ("invoices", "returns", "orders/old"),
    ),
)

BODY = (
    Case(
        name="element equals",
        condition=body(Comparing.EQUALS, "/o:order/o:buyer/o:city", "Ashford"),
        by_hand=lambda _, root: root is not None and root.findtext(f"{Q}buyer/{Q}city") == "Ashford",
        xpath=xpath("/o:order/o:buyer/o:city = 'Ashford'"),
    ),
    Case(
        name="any of six, anywhere, is greater than, as a number",
        condition=body(Comparing.GREATER_THAN, "//o:quantity", "140", kind=ValueType.NUMBER),
        by_hand=_many,
        xpath=xpath("//o:quantity > 140"),
    ),
    Case(
        name="two attributes and an element, one by not",
        condition=both(
            body(Comparing.EXISTS, "/o:order/@placed"),
            body(Comparing.EXISTS, "/o:order/o:items/o:item[@line='6']"),
            negated(body(Comparing.EQUALS, "/o:order/o:seller/o:name", "Meadow Machines")),
        ),
        by_hand=_complete,
        xpath=xpath(
            "/o:order/@placed and /o:order/o:items/o:item[@line='6'] and not(/o:order/o:seller/o:name = 'Meadow Machines')"
        ),
    ),
    Case(
        name="the third item's number matches a pattern (it does not)",
        condition=body(Comparing.MATCHES, "/o:order/o:items/o:item[3]/o:sku", "^HB-9"),
        by_hand=_bolt,
        xpath=xpath("re:test(/o:order/o:items/o:item[3]/o:sku, '^HB-9')"),
    ),
)
PARSING = ValueLocation(where=MessageSection.BODY, path="/*")  # to look there is enough to have the document parsed
HOLDING = 3  # the first ones of each; the last one does not hold


def subject() -> Subject:
    """The order as the conditions look at it, its document parsed already."""
    parties = [NamedService(address=address, organization=address.partition("/")[0]) for address in (SENDER, RECEIVER)]
    seen = Subject(
        header=RuleHeader(
            sender=parties[0],
            to=(Addressed(party=parties[1]),),
            type=ORDER.type,
            topic=ORDER.topic,
            handle=ORDER.handle,
            properties=ORDER.properties,
        ),
        parts=ORDER.parts,
    )
    seen.values(PARSING)
    return seen


def check() -> None:
    """Raise when the three ways to write a condition do not answer the same."""
    root = parse(ORDER.parts[0].data)
    for cases in (HEADER, BODY):
        for number, case in enumerate(cases):
            answers = {compile_condition(case.condition)(subject()), case.by_hand(ORDER, root)}
            answers |= {bool(case.xpath(root))} if case.xpath is not None else set()
            if answers != {number < HOLDING}:
                raise AssertionError(f"{case.name}: the ways to write it answer differently, or not as expected")
