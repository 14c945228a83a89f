"""Conditions evaluated the plainest way, for the few kinds that the generated networks use.

Rule: written from R2 alone and sharing nothing with the product but the nouns, so that both would have to be wrong alike.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from decimal import Decimal

from postroad.core.model.message import Message
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

Value = str | Decimal


def holds(condition: Condition, message: Message, topic: str) -> bool:
    """Whether the condition holds for the message as a service sees it that is given this topic."""
    if isinstance(condition, Combination):
        return combined(condition.operator, [holds(part, message, topic) for part in condition.conditions])
    read: Callable[[str], Value] = Decimal if condition.type is ValueType.NUMBER else str
    found = [read(text) for text in found_at(condition.place, message, topic)]
    return bool(found) and compared(condition, found, [read(text) for text in condition.values])


def combined(operator: Combining, held: list[bool]) -> bool:
    match operator:
        case Combining.AND:
            return all(held)
        case Combining.OR:
            return any(held)
        case Combining.XOR:
            return sum(held) % 2 == 1
        case Combining.NOT:
            return not held[0]


def compared(condition: ValueComparison, found: list[Value], given: list[Value]) -> bool:
    match condition.operator:
        case Comparing.EXISTS:
            return True
        case Comparing.EQUALS | Comparing.EQUALS_ONE_OF:
            return any(value in given for value in found)
        case Comparing.NOT_EQUALS:
            return all(value not in given for value in found)
        case Comparing.LESS_THAN:
            return any(value < given[0] for value in found)  # type: ignore[operator]
        case Comparing.GREATER_THAN:
            return any(value > given[0] for value in found)  # type: ignore[operator]
        case Comparing.MATCHES:
            return any(re.search(condition.values[0], str(value)) for value in found)


def found_at(place: ValueLocation, message: Message, topic: str) -> list[str]:
    if place.where is MessageSection.HEADER:
        return in_header(place.path, message, topic)
    texts: list[str] = []
    for part in message.parts:
        if part.attachment is (place.where is MessageSection.ATTACHMENT):
            texts += in_json(place.path, part.data) if part.content_type == "application/json" else []
            texts += in_xml(place.path, part.data) if part.content_type == "application/xml" else []
    return texts


def in_header(path: str, message: Message, topic: str) -> list[str]:
    if path.startswith("properties."):
        return [item.value for item in message.properties if item.name == path.removeprefix("properties.")]
    return {"topic": [topic], "type": [message.type.value]}[path]


def in_json(path: str, data: bytes) -> list[str]:
    """``$.name`` of an object; a list gives each of its values with ``$.name[*]``."""
    if not path.startswith("$."):
        return []
    document, name = json.loads(data), path.removeprefix("$.")
    if name.endswith("[*]"):
        return [str(value) for value in document.get(name[:-3], [])]
    return [str(document[name])] if name in document else []


def in_xml(path: str, data: bytes) -> list[str]:
    """``/root/child`` or ``/root/@attribute``."""
    if not path.startswith("/"):
        return []
    document = ElementTree.fromstring(data)
    root, _, name = path.removeprefix("/").partition("/")
    if document.tag != root:
        return []
    if name.startswith("@"):
        return [document.attrib[name[1:]]] if name[1:] in document.attrib else []
    return [child.text or "" for child in document if child.tag == name]
