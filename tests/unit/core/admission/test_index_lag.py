"""How late the index is, and how much posts are delayed for it."""

from __future__ import annotations

import pytest

from postroad.core.admission.index_lag import LONGEST_DELAY_S, TOLERATED_S, IndexLag, compute_post_delay_s


def test_the_lag_is_the_age_of_the_first_entry_that_is_not_indexed() -> None:
    lag = IndexLag()
    assert lag.note(10, 10, 0.0) == 0.0
    assert lag.note(20, 10, 5.0) == 0.0  # noticed now
    assert lag.note(30, 15, 9.0) == 4.0
    assert lag.note(30, 20, 10.0) == 1.0  # entry 30 was noticed at 9
    assert lag.note(30, 30, 11.0) == 0.0


def test_an_index_that_stands_still_falls_further_behind() -> None:
    lag = IndexLag()
    assert [lag.note(seconds + 1, 0, float(seconds)) for seconds in range(3)] == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("behind_s", "delay_s"),
    [(0, 0), (TOLERATED_S, 0), (1.5 * TOLERATED_S, LONGEST_DELAY_S / 2), (10 * TOLERATED_S, LONGEST_DELAY_S)],
)
def test_posts_are_delayed_when_the_index_is_later_than_tolerated(behind_s: float, delay_s: float) -> None:
    assert compute_post_delay_s(behind_s) == pytest.approx(delay_s)
