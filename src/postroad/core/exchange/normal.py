"""Conditions as a choice of conjunctions, which is the form in which the tree keeps them.

Kept rule: what cannot be written in few conjunctions is weakened, never cut: a weakened form holds wherever the condition
does, and says that it is no longer the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from postroad.core.exchange.conditions import TRUE, All, Condition, Literal

CONJUNCTIONS_MOST = 64
ALTERNATIVES_MOST = 500  # of one literal each: a list of values is long but costs little
Conjunction = frozenset[Literal]
_NEUTRAL: tuple[Conjunction, ...] = (frozenset(),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Normal:
    conjunctions: tuple[Conjunction, ...]  # none: never; an empty one: always
    exact: bool


def normal_form(condition: Condition) -> Normal:
    whole = _conjunctions(condition)
    if whole is not None:
        return Normal(conjunctions=whole, exact=True)
    parts = condition.parts if isinstance(condition, All) else ()
    return Normal(conjunctions=_as_many_as_fit(parts), exact=False)


def _conjunctions(condition: Condition) -> tuple[Conjunction, ...] | None:
    """All of them, or None if there are too many."""
    if isinstance(condition, Literal):
        return (frozenset((condition,)),)
    if isinstance(condition, All):
        product: tuple[Conjunction, ...] | None = _NEUTRAL
        for part in condition.parts:
            product = _product(product, _conjunctions(part))
        return product
    united: list[Conjunction] = []
    for part in condition.parts:
        found = _conjunctions(part)
        if found is None:
            return None
        united.extend(found)
    return _within_bounds(united)


def _product(
    left: tuple[Conjunction, ...] | None, right: tuple[Conjunction, ...] | None
) -> tuple[Conjunction, ...] | None:
    if left is None or right is None or len(left) * len(right) > ALTERNATIVES_MOST * CONJUNCTIONS_MOST:
        return None
    return _within_bounds([one | other for one in left for other in right])


def _within_bounds(found: list[Conjunction]) -> tuple[Conjunction, ...] | None:
    possible = tuple(dict.fromkeys(conjunction for conjunction in found if not _contradicts_itself(conjunction)))
    if all(len(one) == 1 for one in possible):
        return possible if len(possible) <= ALTERNATIVES_MOST else None
    if len(possible) > ALTERNATIVES_MOST:
        return None
    smallest = tuple(one for one in possible if not any(other < one for other in possible))
    return smallest if len(smallest) <= CONJUNCTIONS_MOST else None


def _contradicts_itself(conjunction: Conjunction) -> bool:
    return any(literal.negated and replace(literal, negated=False) in conjunction for literal in conjunction)


def _as_many_as_fit(parts: tuple[Condition, ...]) -> tuple[Conjunction, ...]:
    """Of what must hold together, as much as can be written out."""
    kept: tuple[Conjunction, ...] = _NEUTRAL
    for part in parts:
        longer = _product(kept, _conjunctions(part))
        kept = kept if longer is None else longer
    return kept


ALWAYS = normal_form(TRUE)
