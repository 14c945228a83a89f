"""How much a receiver is trusted with follows from its answers."""

from __future__ import annotations

from postroad.core.delivery.retry_policy import MAX_AT_ONCE, QUICK_S, ReceiverPace


def test_nobody_is_trusted_before_it_has_answered() -> None:
    pace = ReceiverPace()
    assert (pace.at_once, pace.is_quick) == (1, False)


def test_each_success_doubles_what_is_pushed_at_once() -> None:
    pace = ReceiverPace()
    reached = []
    for _ in range(5):
        pace.record_success(0.01)
        reached.append(pace.at_once)
    assert reached == [2, 4, 8, MAX_AT_ONCE, MAX_AT_ONCE]
    assert pace.is_quick


def test_a_failure_takes_the_trust_away() -> None:
    pace = ReceiverPace()
    pace.record_success(0.01)
    pace.record_failure()
    assert (pace.at_once, pace.is_quick) == (1, False)


def test_the_slow_that_succeed_get_as_many_at_once_and_are_not_quick() -> None:
    pace = ReceiverPace()
    for _ in range(4):
        pace.record_success(QUICK_S)
    assert (pace.at_once, pace.is_quick) == (MAX_AT_ONCE, False)
    pace.record_success(QUICK_S / 2)
    assert pace.is_quick
    pace.mark_slow()
    assert (pace.at_once, pace.is_quick) == (MAX_AT_ONCE, False)
