"""The operators of conditions, applied to the contents of one or two locations.

Rule: operators know nothing of messages, so a stored explanation is evaluated by the code that routed the message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from postroad.core.model.rule import Comparing, ValueComparison, ValueType
from postroad.core.routing.conditions.literals import content_of, literal_of, pattern_of
from postroad.core.routing.conditions.place_content import Canonical, PlaceContent
from postroad.core.routing.conditions.places import lookup_of
from postroad.core.routing.conditions.values import READERS
from postroad.errors import Refused

COMPARED_CHARS = 100_000  # maximum length of element contents that are compared with each other

OperatorTest = Callable[[PlaceContent, PlaceContent], bool]  # of the location and, if any, the other one


def operator_test(comparison: ValueComparison) -> OperatorTest:
    """Return the test of a comparison; raises Refused if the comparison is not possible."""
    match comparison.operator:
        case Comparing.EXISTS:
            return lambda found, _: bool(found)
        case Comparing.MATCHES:
            return _matching(comparison)
        case Comparing.LESS_THAN | Comparing.GREATER_THAN:
            return _ordering(comparison)
        case Comparing.EQUALS | Comparing.EQUALS_ONE_OF:
            return _equality(comparison)
        case Comparing.NOT_EQUALS:
            return _inequality(comparison)


def _inequality(comparison: ValueComparison) -> OperatorTest:
    """Return a test that holds if every location has a value and no values are equal."""
    equal = _equality(comparison)
    if comparison.other is None:
        return lambda found, other: bool(found) and not equal(found, other)
    return lambda found, other: bool(found) and bool(other) and not equal(found, other)


def _matching(comparison: ValueComparison) -> OperatorTest:
    search = pattern_of(_only(comparison))
    return lambda found, _: any(search(text) is not None for text in found.texts)


def _only(comparison: ValueComparison) -> str:
    if len(comparison.values) != 1:
        raise Refused("rule.invalid", f"{comparison.operator.value} compares with one value")
    return comparison.values[0]


def _equality(comparison: ValueComparison) -> OperatorTest:
    if comparison.other is not None:
        return _equal_places(comparison.type)
    if comparison.content:
        literal = content_of(comparison.content, comparison.place)
        most = len(literal) + 1
        return lambda found, _: any(content(most) == literal for content in found.contents)
    wanted = frozenset(literal_of(text, comparison.type) for text in comparison.values)
    if not wanted:
        raise Refused("rule.invalid", f"{comparison.operator.value} needs a value to compare with")
    if comparison.type is not ValueType.STRING:
        read = READERS[comparison.type]
        return lambda found, _: any(read(text) in wanted for text in found.texts)
    if lookup_of(comparison.place).names:
        names = frozenset(text.casefold() for text in comparison.values)
        return lambda found, _: not names.isdisjoint(found.names)
    return lambda found, _: not wanted.isdisjoint(found.texts)


def _equal_places(kind: ValueType) -> OperatorTest:
    if kind is ValueType.STRING:
        return _equal_as_written
    return lambda found, other: not _read(found.texts, kind).isdisjoint(_read(other.texts, kind))


def _equal_as_written(found: PlaceContent, other: PlaceContent) -> bool:
    if found.names or other.names:
        return not _names(found).isdisjoint(_names(other))
    if not set(found.texts).isdisjoint(other.texts):
        return True
    if not found.contents or not other.contents:
        return False
    return not _written_out(found.contents).isdisjoint(_written_out(other.contents))


def _names(found: PlaceContent) -> frozenset[str]:
    return found.names or frozenset(text.casefold() for text in found.texts)


def _written_out(contents: Iterable[Canonical]) -> set[str]:
    """Return contents as texts; a content that is too long or exceeds the share is left out."""
    texts = {content(COMPARED_CHARS + 1) for content in contents}
    return {text for text in texts if 0 < len(text) <= COMPARED_CHARS}


def _read(texts: Iterable[str], kind: ValueType) -> set[Any]:
    return {READERS[kind](text) for text in texts} - {None}


def _ordering(comparison: ValueComparison) -> OperatorTest:
    kind = comparison.type
    less = comparison.operator is Comparing.LESS_THAN
    if comparison.other is not None:
        return lambda found, other: _ordered(_read(found.texts, kind), _read(other.texts, kind), less)
    literal: Any = literal_of(_only(comparison), kind)
    read: Callable[[str], Any] = READERS[kind]
    if less:
        return lambda found, _: any((value := read(text)) is not None and value < literal for text in found.texts)
    return lambda found, _: any((value := read(text)) is not None and value > literal for text in found.texts)


def _ordered(values: set[Any], others: set[Any], less: bool) -> bool:
    """Whether any value is less (or greater) than any of the others."""
    if not values or not others:
        return False
    return bool(min(values) < max(others)) if less else bool(max(values) > min(others))
