"""Conditions are written out as conjunctions: the same in meaning or weaker, and never at the cost of much work."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.exchange.compile.disjunctive_form import (
    MAX_ALTERNATIVES,
    MAX_CONJUNCTIONS,
    DisjunctiveForm,
    disjunctive_form_of,
)
from postroad.core.exchange.conditions import Any, Condition, Literal, Test, all_of, any_of, literals_of, negate
from postroad.core.exchange.slots import HeaderSlot
from postroad.core.exchange.value_conversion import Conversion

LITERALS = [
    Literal(slot=HeaderSlot(name=name), reading=Conversion.ITEM_TEXT, test=Test.EQ, constant="x") for name in "abcde"
]
conditions = st.recursive(
    st.sampled_from(LITERALS) | st.sampled_from(LITERALS).map(negate),
    lambda inner: st.builds(
        lambda join, parts: join(parts), st.sampled_from([all_of, any_of]), st.lists(inner, max_size=4)
    ),
    max_leaves=14,
)


def holds(condition: Condition, truths: dict[str, bool]) -> bool:
    if isinstance(condition, Literal):
        assert isinstance(condition.slot, HeaderSlot)
        return truths[condition.slot.name] != condition.negated
    return (any if isinstance(condition, Any) else all)(holds(part, truths) for part in condition.parts)


def normal_holds(normal: DisjunctiveForm, truths: dict[str, bool]) -> bool:
    return any(all(holds(literal, truths) for literal in one) for one in normal.conjunctions)


def one_of(number: int, alternatives: int) -> Condition:
    slots = [HeaderSlot(name=f"n{number}_{each}") for each in range(alternatives)]
    return any_of(Literal(slot=slot, reading=Conversion.ITEM_TEXT, test=Test.EQ, constant="x") for slot in slots)


@given(conditions)
def test_what_is_exact_means_the_same_and_anything_else_is_weaker(condition: Condition) -> None:
    normal = disjunctive_form_of(condition)
    assert normal.exact  # these are small
    for values in product((True, False), repeat=len(LITERALS)):
        truths = dict(zip("abcde", values, strict=True))
        assert normal_holds(normal, truths) == holds(condition, truths)


@pytest.mark.req("X5")
def test_what_is_too_wide_is_weakened_and_keeps_what_is_said_most_shortly() -> None:
    wide = all_of([*(one_of(number, 7) for number in range(30)), *LITERALS, one_of(99, 2)])
    normal = disjunctive_form_of(wide)
    assert not normal.exact
    assert 0 < len(normal.conjunctions) <= MAX_CONJUNCTIONS
    assert all(set(LITERALS) < one for one in normal.conjunctions)
    assert all(one & set(literals_of(one_of(99, 2))) for one in normal.conjunctions)


@pytest.mark.parametrize(("alternatives", "exact"), [(MAX_ALTERNATIVES, True), (MAX_ALTERNATIVES + 1, False)])
def test_a_long_list_of_values_stays_a_list(alternatives: int, exact: bool) -> None:
    normal = disjunctive_form_of(one_of(0, alternatives))
    assert normal.exact is exact
    assert len(normal.conjunctions) == (alternatives if exact else 1)


def test_what_contradicts_itself_never_holds() -> None:
    assert disjunctive_form_of(all_of([LITERALS[0], negate(LITERALS[0])])) == DisjunctiveForm(
        conjunctions=(), exact=True
    )
