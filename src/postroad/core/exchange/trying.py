"""Tests tried: on one value, and made ready for all the constants that bindings compare the same values with.

Kept rule: a test made ready costs next to nothing for each constant, since there may be thousands of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from postroad.core.exchange.conditions import Test
from postroad.core.exchange.patterns import is_found
from postroad.core.exchange.readings import as_double

Tried = Callable[[Any], bool]  # of a constant


def _contains(value: str, constant: str) -> bool:
    return constant in value


def _matches(value: str, constant: str) -> bool:
    return is_found(constant, value)


def _not(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda value, constant: not compare(value, constant)


_COMPARE: dict[Test, Callable[[Any, Any], bool]] = {
    Test.EQ: operator.eq, Test.NE: operator.ne, Test.LT: operator.lt,
    Test.LE: operator.le, Test.GT: operator.gt, Test.GE: operator.ge,
    Test.NOT_EQ: _not(operator.eq), Test.NOT_NE: _not(operator.ne), Test.NOT_LT: _not(operator.lt),
    Test.NOT_LE: _not(operator.le), Test.NOT_GT: _not(operator.gt), Test.NOT_GE: _not(operator.ge),
    Test.CONTAINS: _contains, Test.STARTS: str.startswith, Test.ENDS: str.endswith, Test.MATCHES: _matches,
}  # fmt: skip
_ORDERED = {Test.LT: "__lt__", Test.LE: "__le__", Test.GT: "__gt__", Test.GE: "__ge__"}


def passes(test: Test, value: Any, constant: Any) -> bool:
    """Whether one value passes."""
    return bool(_COMPARE[test](value, constant))


def made_ready(test: Test, values: Sequence[Any]) -> Tried:
    """Whether any of the values passes, as a function of the constant."""
    if test is Test.EXISTS:
        there = bool(values)
        return lambda _constant: there
    if test is Test.EQ:
        return values.__contains__
    if test in _ORDERED:
        return _ordered(test, values)
    if test is Test.CONTAINS and len(values) == 1:
        contains: Tried = values[0].__contains__
        return contains
    compare = _COMPARE[test]

    def tried(constant: Any) -> bool:
        for value in values:  # noqa: SIM110  # any() costs a generator for each of thousands of constants
            if compare(value, constant):
                return True
        return False

    return tried


def _ordered(test: Test, values: Sequence[Any]) -> Tried:
    """Some value is less than the constant if the least one is; NaN, which is unlike itself, is neither less nor more."""
    there = [value for value in values if value == value]
    if not there:
        return lambda _constant: False
    extreme = min(there) if test in (Test.LT, Test.LE) else max(there)
    if type(extreme) is float:
        ready: Tried = getattr(extreme, _ORDERED[test])  # all its constants are floats too
        return ready
    compare = _COMPARE[test]
    return lambda constant: bool(compare(extreme, constant))


def made_ready_for_numbers(test: Test, values: Sequence[Any]) -> Tried:
    """The same for typed numbers: a double makes the other side a double, whatever it is."""
    ready = made_ready(test, values)
    if values and isinstance(values[0], float):
        return lambda constant: ready(as_double(constant))
    return ready
