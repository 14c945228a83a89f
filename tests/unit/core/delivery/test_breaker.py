"""The circuit breaker: when it opens, what passes while it is open, and how it closes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroad.core.delivery.circuit_breaker import Breaker


def after(outcomes: str, at_s: float = 0.0) -> Breaker:
    """A breaker that saw pushes succeed (y) and fail (n)."""
    breaker = Breaker()
    for outcome in outcomes:
        breaker.record_success(at_s) if outcome == "y" else breaker.record_failure(at_s)
    return breaker


def test_a_receiver_that_works_is_let_alone() -> None:
    assert not after("y" * 50).is_open
    assert after("y" * 50).allows(0.0)


def test_four_failures_are_too_few_to_judge() -> None:
    assert not after("nnnn").is_open
    assert after("nnnnn").is_open


def test_the_breaker_opens_when_half_of_the_last_twenty_pushes_failed() -> None:
    assert not after("y" * 11 + "n" * 9).is_open
    assert after("y" * 11 + "n" * 10).is_open
    assert after("y" * 1_000 + "n" * 10).is_open


def test_while_open_one_probe_passes_each_minute() -> None:
    breaker = after("nnnnn", at_s=100.0)
    assert [breaker.allows(moment) for moment in (100.0, 159.9, 160.0, 160.1, 219.9, 220.0)] == [
        False, False, True, False, False, True,
    ]  # fmt: skip


def test_when_to_ask_again_is_known_and_asking_takes_no_probe() -> None:
    breaker = after("nnnnn", at_s=100.0)
    assert breaker.allows_from(130.0) == 160.0
    assert breaker.allows_from(170.0) == 170.0
    assert breaker.allows(170.0)
    assert breaker.allows_from(170.0) == 230.0
    assert Breaker().allows_from(5.0) == 5.0


def test_a_probe_that_succeeds_closes_it_with_a_clean_slate() -> None:
    breaker = after("nnnnn")
    assert breaker.allows(60.0)
    breaker.record_success(61.0)
    assert not breaker.is_open
    for _ in range(3):
        breaker.record_failure(62.0)
        assert breaker.allows(62.0)


def test_a_probe_that_fails_or_is_lost_waits_for_the_next() -> None:
    breaker = after("nnnnn")
    assert breaker.allows(60.0)
    breaker.record_failure(75.0)
    assert not breaker.allows(119.0)
    assert breaker.allows(120.0)  # nobody says what became of this one
    assert breaker.allows(180.0)


def test_failures_of_pushes_begun_before_do_not_put_the_probe_off() -> None:
    breaker = after("nnnnn")
    for moment in (1.0, 14.0, 59.0):
        breaker.record_failure(moment)
    assert breaker.allows(60.0)


@given(st.lists(st.tuples(st.floats(0, 90), st.sampled_from("yn"))))
def test_a_dead_receiver_is_asked_at_most_once_a_minute_and_never_forgotten(steps: list[tuple[float, str]]) -> None:
    breaker, now_s, passed = after("nnnnn"), 0.0, [0.0]
    for pause_s, _ in steps:
        now_s += pause_s
        if breaker.allows(now_s):
            assert now_s - passed[-1] >= 59.999
            passed.append(now_s)
            breaker.record_failure(now_s)
    assert breaker.allows(passed[-1] + 60.001)
