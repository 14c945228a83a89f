"""Conditions in disjunctive form, as the matching tree stores them.

Rules: a condition that needs too many conjunctions or too much work is weakened, never truncated: the weakened form holds
whenever the condition does, and is marked as inexact. The work is limited, so that no query delays others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroad.core.exchange.conditions import TRUE, All, Condition, Literal, literals_of

MAX_CONJUNCTIONS = 64
MAX_ALTERNATIVES = 500  # maximum conjunctions if each has one literal: a list of values is long but cheap
MAX_PAIRS = 500_000  # maximum pairs of conjunctions combined or compared for one condition: about 50 ms
Conjunction = frozenset[Literal]
_Bits = int  # a conjunction while it is worked on: two bits a literal, one for it and the next for its negation
_NEUTRAL: tuple[_Bits, ...] = (0,)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisjunctiveForm:
    conjunctions: tuple[Conjunction, ...]  # none: never; an empty one: always
    exact: bool


def disjunctive_form_of(condition: Condition) -> DisjunctiveForm:
    if isinstance(condition, Literal):
        return DisjunctiveForm(conjunctions=(frozenset((condition,)),), exact=True)
    if isinstance(condition, All) and not any(map(_is_joined_or_negated, condition.parts)):
        return DisjunctiveForm(conjunctions=(frozenset(condition.parts),), exact=True)  # type: ignore[arg-type]  # all are literals
    writing = _Writing(condition)
    whole = writing.conjunctions(condition)
    if whole is not None:
        return DisjunctiveForm(conjunctions=writing.write(whole), exact=True)
    parts = condition.parts if isinstance(condition, All) else ()
    return DisjunctiveForm(conjunctions=writing.write(writing.as_many_as_fit(parts)), exact=False)


def _is_joined_or_negated(part: Condition) -> bool:
    return not isinstance(part, Literal) or part.negated


class _Writing:
    """The conversion of one condition."""

    __slots__ = ("_bits", "_literals", "_pairs_left", "_plain")

    def __init__(self, condition: Condition) -> None:
        self._bits: dict[Literal, _Bits] = {}
        self._literals: list[Literal] = []
        for literal in literals_of(condition):
            if literal not in self._bits:
                self._number(replace(literal, negated=False))
        self._plain = (4 ** (len(self._literals) // 2) - 1) // 3  # the bits of those that are not negated
        self._pairs_left = MAX_PAIRS

    def _number(self, literal: Literal) -> None:
        for one in (literal, replace(literal, negated=True)):
            self._bits[one] = 1 << len(self._literals)
            self._literals.append(one)

    def conjunctions(self, condition: Condition) -> tuple[_Bits, ...] | None:
        """Return all conjunctions, or None if there are too many."""
        if isinstance(condition, Literal):
            return (self._bits[condition],)
        if isinstance(condition, All):
            product: tuple[_Bits, ...] | None = _NEUTRAL
            for part in condition.parts:
                product = self._product(product, self.conjunctions(part))
                if product is None:
                    return None
            return product
        united: list[_Bits] = []
        for part in condition.parts:
            found = self.conjunctions(part)
            if found is None:
                return None
            united.extend(found)
        return self._within_bounds(united)

    def as_many_as_fit(self, parts: tuple[Condition, ...]) -> tuple[_Bits, ...]:
        """Return as many parts of a conjunction as can be written out, the shortest first."""
        found = [one for one in map(self.conjunctions, parts) if one is not None]
        kept = _NEUTRAL
        for one in sorted(found, key=len):
            longer = self._product(kept, one)
            if longer is None:
                break
            kept = longer
        return kept

    def write(self, conjunctions: tuple[_Bits, ...]) -> tuple[Conjunction, ...]:
        return tuple(map(self._conjunction, conjunctions))

    def _conjunction(self, bits: _Bits) -> Conjunction:
        found = []
        while bits:
            lowest = bits & -bits
            found.append(self._literals[lowest.bit_length() - 1])
            bits ^= lowest
        return frozenset(found)

    def _product(self, left: tuple[_Bits, ...] | None, right: tuple[_Bits, ...] | None) -> tuple[_Bits, ...] | None:
        if left is None or right is None or not self._may_work(len(left) * len(right)):
            return None
        return self._within_bounds([one | other for one in left for other in right])

    def _within_bounds(self, found: list[_Bits]) -> tuple[_Bits, ...] | None:
        possible = tuple(dict.fromkeys(one for one in found if not one & one >> 1 & self._plain))
        if len(possible) > MAX_ALTERNATIVES:
            return None
        if all(one.bit_count() == 1 for one in possible):
            return possible
        if not self._may_work(len(possible) ** 2):
            return None
        smallest = tuple(one for one in possible if not any(other & one == other != one for other in possible))
        return smallest if len(smallest) <= MAX_CONJUNCTIONS else None

    def _may_work(self, pairs: int) -> bool:
        self._pairs_left -= pairs
        return self._pairs_left >= 0


ALWAYS = disjunctive_form_of(TRUE)
