"""Conditions: literals over slots, joined by and and or; only literals are negated.

A literal holds if some value of its reading passes its test. Its negation holds if no value passes *and* there was no
error: a literal over an error and its negation are both false, so that an error never matches, without a third truth
value. So conditions are negated before they are evaluated, never after.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum

from postroad.core.exchange.slots import Slot
from postroad.core.exchange.value_conversion import Conversion

Constant = str | bool | int | Decimal | float | None


class Test(Enum):
    __hash__ = object.__hash__  # by identity, because Enum hashes by name, which is slower

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="
    NOT_EQ = "not ="  # some value is not …: the tests of every … satisfies
    NOT_NE = "not !="
    NOT_LT = "not <"
    NOT_LE = "not <="
    NOT_GT = "not >"
    NOT_GE = "not >="
    EXISTS = "exists"
    CONTAINS = "contains"
    STARTS = "starts-with"
    ENDS = "ends-with"
    MATCHES = "matches"


Test.__test__ = False  # type: ignore[attr-defined]  # pytest shall not take it for a test


@dataclass(frozen=True, slots=True, kw_only=True)
class Literal:
    slot: Slot
    reading: Conversion
    test: Test
    constant: Constant = None
    negated: bool = False

    def __str__(self) -> str:
        what = str(self.slot) if self.reading in _PLAIN else f"{self.reading.value} of {self.slot}"
        said = f"exists({what})" if self.test is Test.EXISTS else f"{what} {self.test.value} {_shown(self.constant)}"
        return f"not({said})" if self.negated else said


@dataclass(frozen=True, slots=True, kw_only=True)
class All:
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return "(" + " and ".join(map(str, self.parts)) + ")" if self.parts else "true"


@dataclass(frozen=True, slots=True, kw_only=True)
class Any:
    parts: tuple[Condition, ...]

    def __str__(self) -> str:
        return "(" + " or ".join(map(str, self.parts)) + ")" if self.parts else "false"


Condition = Literal | All | Any
TRUE = All(parts=())
FALSE = Any(parts=())
_PLAIN = (
    Conversion.TEXTS,
    Conversion.DOUBLES,
    Conversion.ITEM_TEXT,
    Conversion.ITEM_NUMBER,
    Conversion.ITEM_BOOLEAN,
    Conversion.ITEM_AS_NUMBER,
    Conversion.ITEM_AS_BOOLEAN,
    Conversion.LOOKED_UP,
    Conversion.LOOKED_UP_TEXTS,
    Conversion.LOOKED_UP_DOUBLES,
    Conversion.LOOKED_UP_BOOLEANS,
)


def all_of(parts: Iterable[Condition]) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        if part == FALSE:
            return FALSE
        flat.extend(part.parts if isinstance(part, All) else [part])
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else All(parts=unique)


def any_of(parts: Iterable[Condition]) -> Condition:
    flat: list[Condition] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        flat.extend(part.parts if isinstance(part, Any) else [part])
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else Any(parts=unique)


def negate(condition: Condition) -> Condition:
    if isinstance(condition, Literal):
        return replace(condition, negated=not condition.negated)
    parts = [negate(part) for part in condition.parts]
    return any_of(parts) if isinstance(condition, All) else all_of(parts)


def literals_of(condition: Condition) -> list[Literal]:
    if isinstance(condition, Literal):
        return [condition]
    return [literal for part in condition.parts for literal in literals_of(part)]


def _shown(constant: Constant) -> str:
    """Format a constant as in a query."""
    match constant:
        case bool():
            return "true()" if constant else "false()"
        case float() if constant.is_integer() and abs(constant) < 1e15:
            return str(int(constant))
        case str():
            return f"'{constant}'"
    return str(constant)
