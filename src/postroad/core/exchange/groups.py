"""Groups: what is left to test of bindings that ask the same question with different constants.

The literals of a group differ only in their constants, so each message prepares its tests once for the whole group. If the
first one is a positive order comparison, the constants are kept sorted and those that pass are a slice.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable
from typing import Any

from postroad.core.exchange.conditions import Test
from postroad.core.exchange.facts import Facts, Probe
from postroad.core.exchange.readings import Reading
from postroad.core.exchange.trying import Tried

Part = tuple[Probe, bool]  # a probe, and whether it must not hold
Shape = tuple[Part, ...]
Key = Hashable
Constants = tuple[Any, ...]

_SORTED_TESTS = (Test.GT, Test.GE, Test.LT, Test.LE)
_SORTED_READINGS = (Reading.DOUBLES, Reading.TEXTS)


def is_sorted(part: Part) -> bool:
    ((_slot, reading), test), negated = part
    return not negated and test in _SORTED_TESTS and reading in _SORTED_READINGS


def new_group(shape: Shape) -> Group:
    return SortedGroup(shape) if is_sorted(shape[0]) else TableGroup(shape)


def _ready(parts: Shape, facts: Facts) -> list[tuple[Tried, bool]] | None:
    """The tests with the answers they must give; None if one can give no answer for any constant."""
    ready: list[tuple[Tried, bool]] = []
    for probe, negated in parts:
        if negated and facts.values(probe[0]).bad:
            return None
        ready.append((facts.tried(probe), not negated))
    return ready


class TableGroup:
    """Constants → the keys of bindings with just these."""

    __slots__ = ("_keys", "_shape")

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._keys: dict[Any, list[Key]] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, constants: Constants, key: Key) -> None:
        self._keys.setdefault(constants if len(constants) > 1 else constants[0], []).append(key)

    def remove(self, constants: Constants, key: Key) -> None:
        place = constants if len(constants) > 1 else constants[0]
        self._keys[place].remove(key)
        if not self._keys[place]:
            del self._keys[place]

    def collect(self, facts: Facts, out: list[Key]) -> None:
        ready = _ready(self._shape, facts)
        if ready is None:
            return
        (tried, wanted), rest = ready[0], ready[1:]
        if not rest:
            for constant, keys in self._keys.items():
                if tried(constant) is wanted:
                    out += keys
            return
        for constants, keys in self._keys.items():
            if tried(constants[0]) is wanted and _all_pass(rest, constants[1:]):
                out += keys


def _all_pass(ready: list[tuple[Tried, bool]], constants: Constants) -> bool:
    for (tried, wanted), constant in zip(ready, constants, strict=True):  # noqa: SIM110  # all() costs a generator
        if tried(constant) is not wanted:
            return False
    return True


class SortedGroup:
    """The first constants in order, and beside each the rest of them and the key."""

    __slots__ = ("_firsts", "_rows", "_shape")

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._firsts: list[Any] = []
        self._rows: list[Any] = []

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def add(self, constants: Constants, key: Key) -> None:
        at = bisect_left(self._firsts, constants[0])
        self._firsts.insert(at, constants[0])
        self._rows.insert(at, _row(constants, key))

    def remove(self, constants: Constants, key: Key) -> None:
        at = self._rows.index(_row(constants, key), bisect_left(self._firsts, constants[0]))
        del self._firsts[at], self._rows[at]

    def collect(self, facts: Facts, out: list[Key]) -> None:
        passing = self._passing(facts)
        ready = _ready(self._shape[1:], facts)
        if passing is None or ready is None:
            return
        rows = self._rows[passing]
        if not ready:
            out += rows
        elif len(ready) == 1:
            ((tried, wanted),) = ready
            out += [key for constant, key in rows if tried(constant) is wanted]
        else:
            out += [row[-1] for row in rows if _all_pass(ready, row[:-1])]

    def _passing(self, facts: Facts) -> slice | None:
        view, test = self._shape[0][0]
        values = [value for value in facts.values(view).values if value == value]
        if not values:
            return None
        if test is Test.GT:
            return slice(0, bisect_left(self._firsts, max(values)))
        if test is Test.GE:
            return slice(0, bisect_right(self._firsts, max(values)))
        if test is Test.LT:
            return slice(bisect_right(self._firsts, min(values)), None)
        return slice(bisect_left(self._firsts, min(values)), None)


def _row(constants: Constants, key: Key) -> Any:
    return key if len(constants) == 1 else (*constants[1:], key)


Group = TableGroup | SortedGroup
