"""Groups: what is left to test of bindings that ask the same question with different constants.

The literals of a group differ only in their constants, so each message prepares its tests once for the whole group. If the
first one is a positive order comparison, the constants are kept sorted and those that pass are a slice.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable
from itertools import compress
from operator import not_
from typing import Any

from postroad.core.exchange.conditions import Test
from postroad.core.exchange.facts import Facts
from postroad.core.exchange.questions import Probe
from postroad.core.exchange.readings import Reading
from postroad.core.exchange.trying import Tried, extreme

Part = tuple[Probe, bool]  # a probe, and whether it must not hold
Shape = tuple[Part, ...]
Key = Hashable
Constants = tuple[Any, ...]

_CUTS: dict[Test, tuple[Callable[..., Any], Callable[..., int], bool]] = {
    Test.GT: (
        max,
        bisect_left,
        False,
    ),  # some value is more than a constant if the greatest is: all constants before it
    Test.GE: (max, bisect_right, False),
    Test.LT: (min, bisect_right, True),
    Test.LE: (min, bisect_left, True),
}
NO_ANCHOR = -1
_NEEDING = frozenset(Reading) - {  # the others give something to compare even if there is nothing
    Reading.TEXT_OR_EMPTY, Reading.ITEM_TEXT_OR_EMPTY, Reading.NUMBER, Reading.COUNT, Reading.LENGTH, Reading.ITEM_TRUTH,
}  # fmt: skip
_SORTED_READINGS = (Reading.DOUBLES, Reading.TEXTS)


def is_sorted(part: Part) -> bool:
    probe, negated = part
    return not negated and probe.test in _CUTS and probe.view.reading in _SORTED_READINGS


def anchor_of(shape: Shape) -> int:
    """The number of a slot without which the group meets nothing, or NO_ANCHOR."""
    needed = (probe.view.number for probe, negated in shape if not negated and probe.view.reading in _NEEDING)
    return next(needed, NO_ANCHOR)


def new_group(shape: Shape) -> Group:
    return SortedGroup(shape) if is_sorted(shape[0]) else TableGroup(shape)


def _ready(parts: Shape, facts: Facts) -> list[tuple[Tried, bool]] | None:
    """The tests with the answers they must give; None if one can give no answer for any constant."""
    ready: list[tuple[Tried, bool]] = []
    for probe, negated in parts:
        if negated and facts.values(probe.view).bad:
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
    """The first constants in order, and beside each the other ones and the key, column by column: most are never looked at."""

    __slots__ = ("_bisect", "_extreme_of", "_firsts", "_from_there", "_keys", "_later", "_rest", "_view")

    def __init__(self, shape: Shape) -> None:
        self._later = shape[1:]
        probe, _ = shape[0]
        self._view = probe.view
        self._extreme_of, self._bisect, self._from_there = _CUTS[probe.test]
        self._firsts = _column(shape[0])
        self._rest = [_column(part) for part in shape[1:]]
        self._keys: list[Key] = []

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, constants: Constants, key: Key) -> None:
        at = bisect_left(self._firsts, constants[0])
        self._keys.insert(at, key)
        for column, constant in zip((self._firsts, *self._rest), constants, strict=True):
            column.insert(at, constant)

    def remove(self, constants: Constants, key: Key) -> None:
        at = self._keys.index(key, bisect_left(self._firsts, constants[0]))
        del self._keys[at]
        for column in (self._firsts, *self._rest):
            del column[at]

    def collect(self, facts: Facts, out: list[Key]) -> None:
        passing = self._passing(facts)
        if passing is None:
            return
        keys = self._keys[passing]
        if not keys or not self._later:
            out += keys
            return
        ready = _ready(self._later, facts)
        if ready is None:
            return
        answers = [_answers(*one, column[passing]) for one, column in zip(ready, self._rest, strict=True)]
        out += compress(keys, answers[0] if len(answers) == 1 else map(all, zip(*answers, strict=True)))

    def _passing(self, facts: Facts) -> slice | None:
        """Which of the first constants pass; None: none does."""
        most = extreme(facts.values(self._view).values, self._extreme_of)
        if most is None:
            return None
        at = self._bisect(self._firsts, most)
        return slice(at, None) if self._from_there else slice(0, at)


def _column(part: Part) -> Any:
    """Doubles lie side by side; anything else is a list."""
    return array("d") if part[0].view.reading is Reading.DOUBLES and part[0].test is not Test.EXISTS else []


def _answers(tried: Tried, wanted: bool, constants: Iterable[Any]) -> Iterable[bool]:
    found = map(tried, constants)
    return found if wanted else map(not_, found)


Group = TableGroup | SortedGroup
