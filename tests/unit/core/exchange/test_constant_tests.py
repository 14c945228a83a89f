"""Tests made ready for many constants say what trying each value would say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.exchange.conditions import Test
from postroad.core.exchange.constant_tests import find_test_maker, passes

ORDERS = (Test.EQ, Test.NE, Test.LT, Test.GE, Test.NOT_EQ, Test.NOT_NE, Test.NOT_LT, Test.NOT_GE)
TEXTS = (*ORDERS, Test.CONTAINS, Test.STARTS, Test.ENDS)
letters = st.text(alphabet="ab\0", max_size=4)
numbers = st.sampled_from([0.0, -0.0, 1.0, 2.0, float("inf"), float("nan")])
constants = st.text(alphabet="ab", max_size=3)


@pytest.mark.req("X5")
@pytest.mark.parametrize("test", TEXTS)
@given(values=st.lists(letters, max_size=12), constant=constants)
def test_what_is_made_ready_for_texts_says_what_each_value_says(test: Test, values: list[str], constant: str) -> None:
    ready = find_test_maker(test, typed_numbers=False)(values)
    assert ready(constant) == any(passes(test, value, constant) for value in values)


@pytest.mark.req("X5")
@pytest.mark.parametrize("test", ORDERS)
@given(values=st.lists(numbers, max_size=12), constant=numbers)
def test_what_is_made_ready_for_numbers_says_what_each_value_says(
    test: Test, values: list[float], constant: float
) -> None:
    values = [float(str(value)) for value in values]  # so that no NaN is the very same
    ready = find_test_maker(test, typed_numbers=True)(values)
    assert ready(constant) == any(passes(test, value, constant) for value in values)
