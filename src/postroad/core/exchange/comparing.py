"""Comparisons and functions over one meaning and constants → literals.

Kept rules: what compares with XQuery's promotion and conversion of types is said by the choice of a reading. A test that
wants one node at most is exact only where just these nodes are known to be there; elsewhere it is weakened to "some node
passes", or to nothing.
"""

from __future__ import annotations

from decimal import Decimal

from postroad.core.exchange.conditions import FALSE, TRUE, Literal, Test, all_of, any_of, negated
from postroad.core.exchange.nodes import UNSURE, Judged, Nodes
from postroad.core.exchange.query.syntax import Constant, Header
from postroad.core.exchange.readings import Reading, as_double
from postroad.core.exchange.slots import HeaderSlot
from postroad.core.exchange.trying import passes

Number = int | Decimal | float
_CASTS = {
    "string": Reading.TEXT_OR_EMPTY, "xs:string": Reading.TEXT, "number": Reading.NUMBER, "xs:double": Reading.DOUBLE,
    "xs:decimal": Reading.DECIMAL, "xs:integer": Reading.INTEGER, "count": Reading.COUNT, "string-length": Reading.LENGTH,
    "data": Reading.TEXTS,
}  # fmt: skip
CASTS = frozenset(_CASTS)
_AS_TEXT = (Reading.TEXT_OR_EMPTY, Reading.TEXT)
_AS_DOUBLE = (Reading.NUMBER, Reading.DOUBLE)
_LOOKED_UP = {
    Reading.TEXTS: Reading.LOOKED_UP_TEXTS, Reading.DOUBLES: Reading.LOOKED_UP_DOUBLES,
    Reading.BOOLEANS: Reading.LOOKED_UP_BOOLEANS, Reading.TEXT: Reading.LOOKED_UP_TEXT,
    Reading.TEXT_OR_EMPTY: Reading.LOOKED_UP_TEXT_OR_EMPTY, Reading.COUNT: Reading.LOOKED_UP_COUNT,
}  # fmt: skip
_ALONE = {
    Reading.LOOKED_UP_TEXTS: Reading.LOOKED_UP_TEXT, Reading.LOOKED_UP_DOUBLES: Reading.LOOKED_UP_DOUBLE,
    Reading.LOOKED_UP_BOOLEANS: Reading.LOOKED_UP_BOOLEAN,
}  # fmt: skip
_EXACT_NUMBERS = (Reading.DECIMAL, Reading.INTEGER, Reading.COUNT, Reading.LENGTH)


def compare_nodes(nodes: Nodes, test: Test, constant: Constant, *, singles: bool) -> Judged:
    """``path = 'x'`` (some node), or ``path eq 'x'`` (one node or none)."""
    if not singles:
        reading, value = _general(constant)
        return _some(nodes, reading, test, value, exact=nodes.exact)
    if nodes.is_looked_up:
        return _compare_looked_up(nodes, test, constant)
    if not isinstance(constant, str):
        return UNSURE  # an untyped value against a number is an error, unless there is none
    if nodes.exact and not nodes.linked:
        literal = Literal(slot=nodes.slot, reading=Reading.TEXT, test=test, constant=constant)
        return Judged(condition=all_of((nodes.guard, literal)), exact=True)
    return _some(nodes, Reading.TEXTS, test, constant, exact=nodes.exact and nodes.single)


def _compare_looked_up(nodes: Nodes, test: Test, constant: Constant) -> Judged:
    """``$msg?total eq 5``: what is looked up has types, so all constants can be compared with it."""
    reading, value = _general(constant)
    if not nodes.exact or nodes.linked:
        return _some(nodes, reading, test, value, exact=False)  # one may be an array of several
    alone = Literal(slot=nodes.slot, reading=_ALONE[_LOOKED_UP[reading]], test=test, constant=value)
    return Judged(condition=all_of((nodes.guard, alone)), exact=True)


def _general(constant: Constant) -> tuple[Reading, Constant]:
    if isinstance(constant, str):
        return Reading.TEXTS, constant
    if isinstance(constant, bool):
        return Reading.BOOLEANS, constant
    return Reading.DOUBLES, as_double(constant)


def _some(nodes: Nodes, reading: Reading, test: Test, constant: Constant, *, exact: bool) -> Judged:
    literal = Literal(slot=nodes.slot, reading=_fitting(nodes, reading), test=test, constant=constant)
    return Judged(condition=all_of((nodes.guard, literal)), exact=exact)


def _fitting(nodes: Nodes, reading: Reading) -> Reading:
    return _LOOKED_UP[reading] if nodes.is_looked_up else reading


def compare_cast(function: str, nodes: Nodes, test: Test, constant: Constant, *, singles: bool) -> Judged:
    """``xs:decimal(path) > 5``, ``number(path) > 5``, ``count(path) > 5`` …"""
    reading = _CASTS[function]
    if reading is Reading.TEXTS:
        return compare_nodes(nodes, test, constant, singles=singles)
    if nodes.is_looked_up and reading is not Reading.COUNT:
        return UNSURE
    if not nodes.plain or isinstance(constant, bool) or isinstance(constant, str) != (reading in _AS_TEXT):
        return UNSURE
    value: Constant = constant
    if reading in _AS_DOUBLE and not isinstance(constant, str):
        value = as_double(constant)
    elif reading in _EXACT_NUMBERS and isinstance(constant, float):
        return UNSURE
    if reading is Reading.COUNT and not nodes.steps:  # a message is one, whether it is XML or JSON
        return Judged(condition=TRUE if passes(test, 1, value) else FALSE, exact=True)
    literal = Literal(slot=nodes.slot, reading=_fitting(nodes, reading), test=test, constant=value)
    return Judged(condition=literal, exact=True)


def compare_header(header: Header, test: Test, constant: Constant, *, singles: bool) -> Judged:
    if isinstance(constant, str):
        reading = Reading.ITEM_TEXT
    elif isinstance(constant, bool):
        reading = Reading.ITEM_BOOLEAN if singles else Reading.ITEM_AS_BOOLEAN
    elif isinstance(constant, float):
        reading = Reading.ITEM_DOUBLE if singles else Reading.ITEM_AS_DOUBLE
    else:
        reading = Reading.ITEM_NUMBER if singles else Reading.ITEM_AS_NUMBER
    return Judged(condition=Literal(slot=_slot(header), reading=reading, test=test, constant=constant), exact=True)


def try_nodes(nodes: Nodes, test: Test, constant: str) -> Judged:
    """``contains(path, 'x')`` and its like, which take one node or none, and none as an empty text."""
    empty_passes = passes(test, "", constant)
    if nodes.exact and not nodes.linked:
        reading = _fitting(nodes, Reading.TEXT_OR_EMPTY)
        literal = Literal(slot=nodes.slot, reading=reading, test=test, constant=constant)
        found = all_of((nodes.guard, literal))
        if empty_passes and nodes.guard != TRUE:
            found = any_of((found, negated(nodes.guard)))
        return Judged(condition=found, exact=True)
    if empty_passes:
        return UNSURE
    exact = nodes.exact and nodes.single and not nodes.is_looked_up
    return _some(nodes, Reading.TEXTS, test, constant, exact=exact)


def looked_up_is_true(nodes: Nodes) -> Judged:
    """Its effective boolean value."""
    if not nodes.plain:
        return Judged(condition=nodes.any().condition, exact=False)
    literal = Literal(slot=nodes.slot, reading=Reading.LOOKED_UP_TRUTH, test=Test.EQ, constant=True)
    return Judged(condition=literal, exact=True)


def try_header(header: Header, test: Test, constant: str) -> Judged:
    literal = Literal(slot=_slot(header), reading=Reading.ITEM_TEXT_OR_EMPTY, test=test, constant=constant)
    return Judged(condition=literal, exact=True)


def header_exists(header: Header) -> Judged:
    return Judged(condition=Literal(slot=_slot(header), reading=Reading.TEXTS, test=Test.EXISTS), exact=True)


def header_is_true(header: Header) -> Judged:
    """Its effective boolean value."""
    literal = Literal(slot=_slot(header), reading=Reading.ITEM_TRUTH, test=Test.EQ, constant=True)
    return Judged(condition=literal, exact=True)


def _slot(header: Header) -> HeaderSlot:
    return HeaderSlot(name=header.name, declared=header.declared)
