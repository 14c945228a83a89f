"""Converts comparisons and functions over a path or header into conditions.

Rules: the choice of a reading implements XQuery's type promotion and conversion. A test that requires at most one node
is exact only if exactly these nodes are known to exist; otherwise it is weakened to "some node passes", or dropped.
"""

from __future__ import annotations

from decimal import Decimal

from postroad.core.exchange.compile.nodes import UNSURE, JudgedCondition, Nodes
from postroad.core.exchange.conditions import FALSE, TRUE, Literal, Test, all_of, any_of, negate
from postroad.core.exchange.constant_tests import passes
from postroad.core.exchange.query.syntax import Constant, HeaderVariable
from postroad.core.exchange.slots import HeaderSlot
from postroad.core.exchange.value_conversion import Conversion, as_double

Number = int | Decimal | float
_CASTS = {
    "string": Conversion.TEXT_OR_EMPTY, "xs:string": Conversion.TEXT, "number": Conversion.NUMBER, "xs:double": Conversion.DOUBLE,
    "xs:decimal": Conversion.DECIMAL, "xs:integer": Conversion.INTEGER, "count": Conversion.COUNT,
        "string-length": Conversion.LENGTH,
    "data": Conversion.TEXTS,
}  # fmt: skip
CASTS = frozenset(_CASTS)
_AS_TEXT = (Conversion.TEXT_OR_EMPTY, Conversion.TEXT)
_AS_DOUBLE = (Conversion.NUMBER, Conversion.DOUBLE)
_LOOKED_UP = {
    Conversion.TEXTS: Conversion.LOOKED_UP_TEXTS, Conversion.DOUBLES: Conversion.LOOKED_UP_DOUBLES,
    Conversion.BOOLEANS: Conversion.LOOKED_UP_BOOLEANS, Conversion.TEXT: Conversion.LOOKED_UP_TEXT,
    Conversion.TEXT_OR_EMPTY: Conversion.LOOKED_UP_TEXT_OR_EMPTY, Conversion.COUNT: Conversion.LOOKED_UP_COUNT,
}  # fmt: skip
_ALONE = {
    Conversion.LOOKED_UP_TEXTS: Conversion.LOOKED_UP_TEXT, Conversion.LOOKED_UP_DOUBLES: Conversion.LOOKED_UP_DOUBLE,
    Conversion.LOOKED_UP_BOOLEANS: Conversion.LOOKED_UP_BOOLEAN,
}  # fmt: skip
_EXACT_NUMBERS = (Conversion.DECIMAL, Conversion.INTEGER, Conversion.COUNT, Conversion.LENGTH)


def compare_nodes(nodes: Nodes, test: Test, constant: Constant, *, singles: bool) -> JudgedCondition:
    """Convert ``path = 'x'`` (some node), or ``path eq 'x'`` (at most one node)."""
    if not singles:
        reading, value = _general(constant)
        return _some(nodes, reading, test, value, exact=nodes.exact)
    if nodes.is_looked_up:
        return _compare_looked_up(nodes, test, constant)
    if not isinstance(constant, str):
        return UNSURE  # an untyped value against a number is an error, unless there is none
    if nodes.exact and not nodes.linked:
        literal = Literal(slot=nodes.slot, reading=Conversion.TEXT, test=test, constant=constant)
        return JudgedCondition(condition=all_of((nodes.guard, literal)), exact=True)
    return _some(nodes, Conversion.TEXTS, test, constant, exact=nodes.exact and nodes.single)


def _compare_looked_up(nodes: Nodes, test: Test, constant: Constant) -> JudgedCondition:
    """Compare a JSON lookup such as ``$msg?total eq 5``; JSON values have types, so any constant can be compared."""
    reading, value = _general(constant)
    if not nodes.exact or nodes.linked:
        return _some(nodes, reading, test, value, exact=False)  # a value can be an array of several
    alone = Literal(slot=nodes.slot, reading=_ALONE[_LOOKED_UP[reading]], test=test, constant=value)
    return JudgedCondition(condition=all_of((nodes.guard, alone)), exact=True)


def _general(constant: Constant) -> tuple[Conversion, Constant]:
    if isinstance(constant, str):
        return Conversion.TEXTS, constant
    if isinstance(constant, bool):
        return Conversion.BOOLEANS, constant
    return Conversion.DOUBLES, as_double(constant)


def _some(nodes: Nodes, reading: Conversion, test: Test, constant: Constant, *, exact: bool) -> JudgedCondition:
    literal = Literal(slot=nodes.slot, reading=_fitting(nodes, reading), test=test, constant=constant)
    return JudgedCondition(condition=all_of((nodes.guard, literal)), exact=exact)


def _fitting(nodes: Nodes, reading: Conversion) -> Conversion:
    return _LOOKED_UP[reading] if nodes.is_looked_up else reading


def compare_cast(function: str, nodes: Nodes, test: Test, constant: Constant, *, singles: bool) -> JudgedCondition:
    """Convert ``xs:decimal(path) > 5``, ``number(path) > 5``, ``count(path) > 5`` …"""
    reading = _CASTS[function]
    if reading is Conversion.TEXTS:
        return compare_nodes(nodes, test, constant, singles=singles)
    if nodes.is_looked_up and reading is not Conversion.COUNT:
        return UNSURE
    if not nodes.plain or isinstance(constant, bool) or isinstance(constant, str) != (reading in _AS_TEXT):
        return UNSURE
    value: Constant = constant
    if reading in _AS_DOUBLE and not isinstance(constant, str):
        value = as_double(constant)
    elif reading in _EXACT_NUMBERS and isinstance(constant, float):
        return UNSURE
    if reading is Conversion.COUNT and not nodes.steps:  # a message is one, whether it is XML or JSON
        return JudgedCondition(condition=TRUE if passes(test, 1, value) else FALSE, exact=True)
    literal = Literal(slot=nodes.slot, reading=_fitting(nodes, reading), test=test, constant=value)
    return JudgedCondition(condition=literal, exact=True)


def compare_header(header: HeaderVariable, test: Test, constant: Constant, *, singles: bool) -> JudgedCondition:
    if isinstance(constant, str):
        reading = Conversion.ITEM_TEXT
    elif isinstance(constant, bool):
        reading = Conversion.ITEM_BOOLEAN if singles else Conversion.ITEM_AS_BOOLEAN
    elif isinstance(constant, float):
        reading = Conversion.ITEM_DOUBLE if singles else Conversion.ITEM_AS_DOUBLE
    else:
        reading = Conversion.ITEM_NUMBER if singles else Conversion.ITEM_AS_NUMBER
    return JudgedCondition(
        condition=Literal(slot=_slot(header), reading=reading, test=test, constant=constant), exact=True
    )


def try_nodes(nodes: Nodes, test: Test, constant: str) -> JudgedCondition:
    """Convert ``contains(path, 'x')`` and similar functions of at most one node; no node counts as an empty text."""
    empty_passes = passes(test, "", constant)
    if nodes.exact and not nodes.linked:
        reading = _fitting(nodes, Conversion.TEXT_OR_EMPTY)
        literal = Literal(slot=nodes.slot, reading=reading, test=test, constant=constant)
        found = all_of((nodes.guard, literal))
        if empty_passes and nodes.guard != TRUE:
            found = any_of((found, negate(nodes.guard)))
        return JudgedCondition(condition=found, exact=True)
    if empty_passes:
        return UNSURE
    exact = nodes.exact and nodes.single and not nodes.is_looked_up
    return _some(nodes, Conversion.TEXTS, test, constant, exact=exact)


def judge_lookup_truth(nodes: Nodes) -> JudgedCondition:
    """Its effective boolean value."""
    if not nodes.plain:
        return JudgedCondition(condition=nodes.any().condition, exact=False)
    literal = Literal(slot=nodes.slot, reading=Conversion.LOOKED_UP_TRUTH, test=Test.EQ, constant=True)
    return JudgedCondition(condition=literal, exact=True)


def try_header(header: HeaderVariable, test: Test, constant: str) -> JudgedCondition:
    literal = Literal(slot=_slot(header), reading=Conversion.ITEM_TEXT_OR_EMPTY, test=test, constant=constant)
    return JudgedCondition(condition=literal, exact=True)


def judge_header_exists(header: HeaderVariable) -> JudgedCondition:
    return JudgedCondition(
        condition=Literal(slot=_slot(header), reading=Conversion.TEXTS, test=Test.EXISTS), exact=True
    )


def judge_header_truth(header: HeaderVariable) -> JudgedCondition:
    """Its effective boolean value."""
    literal = Literal(slot=_slot(header), reading=Conversion.ITEM_TRUTH, test=Test.EQ, constant=True)
    return JudgedCondition(condition=literal, exact=True)


def _slot(header: HeaderVariable) -> HeaderSlot:
    return HeaderSlot(name=header.name, declared=header.declared)
