"""Groups of bindings with the same remaining tests and different constants.

The literals of a group differ only in their constants, so each message prepares its tests once for the whole group. If the
first one is a positive order comparison, the constants are sorted and the passing ones are a slice.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import compress, repeat
from operator import not_
from typing import Any

from postroad.core.exchange.conditions import Test
from postroad.core.exchange.constant_tests import find_extreme
from postroad.core.exchange.match.message_facts import MessageFacts
from postroad.core.exchange.match.questions import Probe
from postroad.core.exchange.value_conversion import Conversion

Part = tuple[Probe, bool]  # a probe, and whether it must not hold
Shape = tuple[Part, ...]
Key = Hashable
Constants = tuple[Any, ...]

_CUTS: dict[Test, tuple[Callable[..., Any], Callable[..., int], bool]] = {
    # Some value is more than a constant if the greatest is: all constants before it pass.
    Test.GT: (max, bisect_left, False),
    Test.GE: (max, bisect_right, False),
    Test.LT: (min, bisect_right, True),
    Test.LE: (min, bisect_left, True),
}
NO_ANCHOR = -1
SORTED_FROM = 3
_NEEDING = frozenset(Conversion) - {  # the others give a value to compare even if no node exists
    Conversion.TEXT_OR_EMPTY, Conversion.ITEM_TEXT_OR_EMPTY, Conversion.NUMBER, Conversion.COUNT, Conversion.LENGTH,
    Conversion.ITEM_TRUTH,
    Conversion.LOOKED_UP_TEXT_OR_EMPTY, Conversion.LOOKED_UP_COUNT, Conversion.LOOKED_UP_TRUTH,
}  # fmt: skip
_SORTED_READINGS = (Conversion.DOUBLES, Conversion.TEXTS)


def is_sorted(part: Part) -> bool:
    probe, negated = part
    return not negated and probe.test in _CUTS and probe.view.reading in _SORTED_READINGS


def anchor_of(shape: Shape) -> int:
    """Return the number of a slot without which the group cannot match, or NO_ANCHOR."""
    needed = (probe.view.number for probe, negated in shape if not negated and probe.view.reading in _NEEDING)
    return next(needed, NO_ANCHOR)


def sort_if_large(group: Group) -> Group:
    """Return the group, as a sorted one if its test allows this and it is large enough."""
    if not isinstance(group, TableGroup) or len(group) < SORTED_FROM or not is_sorted(group.shape[0]):
        return group
    ordered = SortedGroup(group.shape)
    for constants, key in group.rows():
        ordered.add(constants, key)
    return ordered


def _passes(part: Part, constant: Any, facts: MessageFacts) -> bool:
    probe, negated = part
    if negated and facts.values(probe.view).bad:
        return False
    return facts.try_values(probe)(constant) is not negated


class TableGroup:
    """Constants → the keys of bindings with just these."""

    __slots__ = ("_first", "_keys", "_later", "_negated", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._first, self._negated = shape[0]
        self._later = shape[1:]
        self._keys: dict[Any, list[Key]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def rows(self) -> Iterable[tuple[Constants, Key]]:
        for constants, keys in self._keys.items():
            for key in keys:
                yield (constants if self._later else (constants,)), key

    def add(self, constants: Constants, key: Key) -> None:
        self._keys.setdefault(constants if self._later else constants[0], []).append(key)

    def remove(self, constants: Constants, key: Key) -> None:
        place = constants if self._later else constants[0]
        self._keys[place].remove(key)
        if not self._keys[place]:
            del self._keys[place]

    def collect(self, facts: MessageFacts, out: list[Key]) -> None:
        negated = self._negated
        if negated and facts.values(self._first.view).bad:
            return
        tried = facts.try_values(self._first)
        if not self._later:
            for constant, keys in self._keys.items():
                if tried(constant) is not negated:
                    out += keys
            return
        for constants, keys in self._keys.items():
            if tried(constants[0]) is not negated and self._rest_passes(constants, facts):
                out += keys

    def _rest_passes(self, constants: Constants, facts: MessageFacts) -> bool:
        for part, constant in zip(self._later, constants[1:], strict=True):  # noqa: SIM110  # all() costs a generator
            if not _passes(part, constant, facts):
                return False
        return True


class SortedGroup:
    """Conjunctions sorted by their first constant, with the other constants and the keys in columns that are rarely read."""

    __slots__ = ("_bisect", "_extreme_of", "_firsts", "_from_there", "_keys", "_later", "_rest", "_view", "shape")

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self._later = shape[1:]
        probe, _ = shape[0]
        self._view = probe.view
        self._extreme_of, self._bisect, self._from_there = _CUTS[probe.test]
        self._firsts = _column(shape[0])
        self._rest = [_column(part) for part in shape[1:]]
        self._keys: list[Key] = []

    def __len__(self) -> int:
        return len(self._keys)

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

    def collect(self, facts: MessageFacts, out: list[Key]) -> None:
        passing = self._passing(facts)
        if passing is None:
            return
        keys = self._keys[passing]
        if not keys or not self._later:
            out += keys
            return
        if len(self._later) == 1:
            out += compress(keys, _answers(self._later[0], self._rest[0][passing], facts))
            return
        answers = [_answers(part, column[passing], facts) for part, column in zip(self._later, self._rest, strict=True)]
        out += compress(keys, map(all, zip(*answers, strict=True)))

    def _passing(self, facts: MessageFacts) -> slice | None:
        """Return which of the first constants pass; None if none does."""
        most = find_extreme(facts.values(self._view).values, self._extreme_of)
        if most is None:
            return None
        at = self._bisect(self._firsts, most)
        return slice(at, None) if self._from_there else slice(0, at)


def _column(part: Part) -> Any:
    """Return an empty column: an array for doubles, otherwise a list."""
    return array("d") if part[0].view.reading is Conversion.DOUBLES and part[0].test is not Test.EXISTS else []


def _answers(part: Part, constants: Sequence[Any], facts: MessageFacts) -> Iterable[bool]:
    probe, negated = part
    if not negated:
        return map(facts.try_values(probe), constants)
    if facts.values(probe.view).bad:
        return repeat(False, len(constants))
    return map(not_, map(facts.try_values(probe), constants))


Group = TableGroup | SortedGroup
