"""What follows from each answer to a push, and when the next try is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.delivery.push_endpoints import target_at
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.delivery.reasons import make_reason, reason_text, times_text
from postroad.core.delivery.retry_policy import (
    GiveUp,
    PushDecision,
    PushDelivered,
    PushRetry,
    SwitchOff,
    decide_push,
)
from postroad.core.model.directory import Push
from postroad.core.model.reason import Reason

PUSH = Push(url="https://aster.example/in")
NOW_US = 1_700_000_000_000_000


def after(
    status: int | None, attempt: int = 1, push: Push = PUSH, jitter: float = 0.5, **more: float | Reason | None
) -> PushDecision:
    return decide_push(PushAnswer(status=status, **more), target_at(push, attempt), jitter, NOW_US)  # type: ignore[arg-type]


def delay_s(found: PushDecision) -> float:
    assert isinstance(found, PushRetry)
    assert found.at_us == NOW_US + round(found.delay_s * 1_000_000)
    return found.delay_s


@pytest.mark.req("D3")
@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_yes_also_to_the_last_try(status: int) -> None:
    assert after(status, attempt=9) == PushDelivered()


@pytest.mark.req("D3")
@pytest.mark.parametrize(
    "status", [None, 100, 199, 300, 301, 302, 304, 307, 308, 400, 401, 404, 408, 429, 500, 503, 599]
)
def test_everything_else_is_tried_again_and_then_given_up(status: int | None) -> None:
    assert isinstance(after(status), PushRetry)
    assert isinstance(after(status, attempt=8), PushRetry)
    assert isinstance(after(status, attempt=9), GiveUp)


def test_the_growing_schedule() -> None:
    waits = [delay_s(after(500, attempt=attempt)) for attempt in range(1, 9)]
    assert waits == [5, 30, 300, 1_800, 7_200, 18_000, 36_000, 36_000]
    assert delay_s(after(500, attempt=50, push=Push(url="https://a.example/", tries=100))) == 36_000


@pytest.mark.parametrize(("jitter", "expected"), [(0.0, 240), (0.5, 300), (1.0, 360)])
def test_a_pause_is_a_fifth_shorter_or_longer(jitter: float, expected: float) -> None:
    assert delay_s(after(500, attempt=3, jitter=jitter)) == pytest.approx(expected)


@pytest.mark.req("D3")
def test_a_service_may_have_its_own_interval_and_tries() -> None:
    own = Push(url="https://aster.example/in", tries=3, retry_interval_s=60)
    assert [delay_s(after(500, attempt=attempt, push=own)) for attempt in (1, 2)] == [60, 60]
    assert isinstance(after(500, attempt=3, push=own), GiveUp)
    assert isinstance(after(500, attempt=1, push=Push(url="https://aster.example/in", tries=1)), GiveUp)


@pytest.mark.parametrize(
    ("asked_s", "expected"), [(0.0, 5), (2.0, 5), (600.0, 600), (86_400.0, 86_400), (1e9, 86_400), (-5.0, 5)]
)
def test_a_receiver_that_asks_for_patience_gets_it_for_a_day_at_most(asked_s: float, expected: float) -> None:
    assert delay_s(after(503, retry_after_s=asked_s)) == expected


def test_patience_does_not_add_tries() -> None:
    assert isinstance(after(503, attempt=9, retry_after_s=60.0), GiveUp)


def test_410_ends_pushing() -> None:
    found = after(410)
    assert isinstance(found, SwitchOff)
    assert "set another push address" in reason_text(found.reason)


@pytest.mark.parametrize(
    ("status", "fault", "says"),
    [
        (None, "the name aster.example does not resolve", "the name aster.example does not resolve"),
        (None, "", "there was no answer"),
        (302, "", "redirects are not followed"),
        (401, "", "see whether its address and authentication are right"),
        (429, "", "the receiver answered 429"),
        (503, "", "the receiver answered 503"),
    ],
)
def test_the_reason_says_what_came_back_and_what_to_do(status: int | None, fault: str, says: str) -> None:
    why = make_reason("other", detail=fault) if fault else None
    again, last = after(status, fault=why), after(status, attempt=9, fault=why)
    assert isinstance(again, PushRetry)
    assert isinstance(last, GiveUp)
    assert says in reason_text(again.reason)
    assert reason_text(last.reason) == f"{reason_text(again.reason)}; tried 9 times"


def test_a_single_try_is_not_told_in_the_plural() -> None:
    assert (times_text(1), times_text(2)) == ("once", "2 times")


@given(
    st.none() | st.integers(100, 599),
    st.integers(1, 100),
    st.integers(1, 100),
    st.integers(0, 31_536_000),
    st.floats(0, 1),
)
def test_tries_are_bounded_and_pauses_are_never_nothing(
    status: int | None, attempt: int, tries: int, interval_s: int, jitter: float
) -> None:
    push = Push(url="https://aster.example/in", tries=tries, retry_interval_s=interval_s)
    found = after(status, attempt, push, jitter)
    assert not (isinstance(found, PushRetry) and attempt >= tries)
    assert not isinstance(found, PushRetry) or found.delay_s >= 0.8
