"""Tests a value against a constant, or prepares a test for all constants that bindings compare the same values with.

Rules: a prepared test costs almost nothing per constant, because there may be thousands of them. A pattern of
``matches()`` is used only if every character is known to have the same meaning in XPath and in RE2; the engine evaluates
all other patterns.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from postroad.core.exchange.conditions import Test
from postroad.core.exchange.value_conversion import as_double
from postroad.core.routing.conditions.literals import pattern_of
from postroad.errors import Refused

_PLAIN = r"[A-Za-z0-9 _:/@,;=%#&<>!\"'-]"
_CLASS = r"\[\^?(?:[A-Za-z0-9_]-[A-Za-z0-9_]|[A-Za-z0-9 _:/@,])+\]"
_PIECE = re.compile(rf"{_PLAIN}|\\[.*+?()|\[\]^$\\]|{_CLASS}|\.|[*+?()|^$]|\{{[0-9]{{1,2}}(?:,[0-9]{{0,2}})?\}}")
_ANY_BUT_LINE_ENDS = r"[^\n\r]"


def to_re2_pattern(pattern: str) -> str | None:
    """Return the pattern for RE2, or None if it needs the engine."""
    pieces: list[str] = []
    at = 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None or pattern.startswith("(?", at):
            return None
        pieces.append(_ANY_BUT_LINE_ENDS if piece.group() == "." else piece.group())
        at = piece.end()
    written = "".join(pieces)
    try:
        pattern_of(written)
    except Refused:
        return None
    return written


def has_match(pattern: str, text: str) -> bool:
    """Return True if a pattern, already converted for RE2, matches anywhere in the text."""
    return pattern_of(pattern)(text) is not None


Tried = Callable[[Any], bool]  # of a constant
FEW = 8  # number of values up to which a loop is cheaper than a set


def _matches(value: str, constant: str) -> bool:
    return has_match(constant, value)


def _not(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda value, constant: not compare(value, constant)


_COMPARE: dict[Test, Callable[[Any, Any], bool]] = {
    Test.EQ: operator.eq, Test.NE: operator.ne, Test.LT: operator.lt,
    Test.LE: operator.le, Test.GT: operator.gt, Test.GE: operator.ge,
    Test.NOT_EQ: _not(operator.eq), Test.NOT_NE: _not(operator.ne), Test.NOT_LT: _not(operator.lt),
    Test.NOT_LE: _not(operator.le), Test.NOT_GT: _not(operator.gt), Test.NOT_GE: _not(operator.ge),
    Test.CONTAINS: str.__contains__, Test.STARTS: str.startswith, Test.ENDS: str.endswith, Test.MATCHES: _matches,
}  # fmt: skip
_SEARCHED = {Test.CONTAINS: ("", ""), Test.STARTS: ("\0", ""), Test.ENDS: ("", "\0")}  # text around the constant
_ORDERED = {Test.LT: "__lt__", Test.LE: "__le__", Test.GT: "__gt__", Test.GE: "__ge__"}


def passes(test: Test, value: Any, constant: Any) -> bool:
    """Return True if one value passes."""
    return bool(_COMPARE[test](value, constant))


Maker = Callable[[Sequence[Any]], Tried]


def find_test_maker(test: Test, *, typed_numbers: bool) -> Maker:
    """Return the function that prepares a test: from values to a predicate over constants."""
    if test is Test.EXISTS:
        return _existing
    if test in (Test.EQ, Test.NOT_NE):
        make: Maker = _equal
    elif test in (Test.NE, Test.NOT_EQ):
        make = _unequal
    elif test in _ORDERED:
        make = _ordered_maker(test)
    elif test in _SEARCHED:
        make = _search_maker(test)
    else:
        make = _any_maker(_COMPARE[test])
    return _for_numbers(make) if typed_numbers else make


def _existing(values: Sequence[Any]) -> Tried:
    there = bool(values)
    return lambda _constant: there


def _equal(values: Sequence[Any]) -> Tried:
    return frozenset(values).__contains__ if len(values) > FEW else values.__contains__


def _unequal(values: Sequence[Any]) -> Tried:
    """Prepare ``!=``: if two values differ, one of them differs from any constant."""
    different = list(dict.fromkeys(values))
    if len(different) > 1:
        return _always
    return partial(operator.ne, different[0]) if different else _never


def _ordered_maker(test: Test) -> Maker:
    """Prepare an order comparison: some value is less than the constant if the least one is; NaN never is."""
    compare, of_float = _COMPARE[test], _ORDERED[test]
    extreme_of = min if test in (Test.LT, Test.LE) else max

    def make(values: Sequence[Any]) -> Tried:
        most = values[0] if len(values) == 1 else find_extreme(values, extreme_of)
        if type(most) is float:
            ready: Tried = getattr(most, of_float)  # all its constants are floats too
            return ready
        if most is None:
            return _never
        return lambda constant: bool(compare(most, constant))

    return make


def find_extreme(values: Sequence[Any], extreme_of: Callable[..., Any]) -> Any:
    """The least or the greatest of them, NaN aside; None if there is none."""
    if len(values) == 1:
        return values[0] if values[0] == values[0] else None
    return extreme_of((value for value in values if value == value), default=None)


def _always(_constant: Any) -> bool:
    return True


def _never(_constant: Any) -> bool:
    return False


def _any_maker(compare: Callable[[Any, Any], bool]) -> Maker:
    def make(values: Sequence[Any]) -> Tried:
        if len(values) == 1:
            return partial(compare, values[0])

        def tried(constant: Any) -> bool:
            for value in values:  # noqa: SIM110  # any() costs a generator for each of thousands of constants
                if compare(value, constant):
                    return True
            return False

        return tried

    return make


def _search_maker(test: Test) -> Maker:
    """Return a test that searches all values at once, joined by NUL, which neither documents nor queries contain."""
    begin, end = _SEARCHED[test]
    one_by_one = _any_maker(_COMPARE[test])

    def make(values: Sequence[Any]) -> Tried:
        text = "\0".join(("", *values, "")) if len(values) > 1 else ""
        if text.count("\0") != len(values) + 1:  # there is one, none, or JSON with a NUL in it
            return one_by_one(values)
        return lambda constant: f"{begin}{constant}{end}" in text

    return make


def _for_numbers(make: Maker) -> Maker:
    """Adapts a test to typed numbers: if one side is a double, the other is converted to a double."""

    def made(values: Sequence[Any]) -> Tried:
        ready = make(values)
        if values and isinstance(values[0], float):
            return lambda constant: ready(as_double(constant))
        return ready

    return made
