"""The token bucket, against what it promises for any sequence of requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.admission.rate_limit import UNLIMITED, RateLimiter, rate_fields

pytestmark = pytest.mark.req("Z6")

waits = st.lists(st.floats(0, 3, allow_nan=False), min_size=1, max_size=60)


@given(per_s=st.integers(1, 20), waits=waits)
def test_never_more_than_a_bucket_and_what_time_adds(per_s: int, waits: list[float]) -> None:
    limiter, now, allowed = RateLimiter(per_s), 0.0, 0
    for wait in waits:
        now += wait
        state = limiter.take("house", now)
        allowed += state.allowed
        assert 0 <= state.remaining <= state.quota
        assert (state.retry_after_s > 0) is not state.allowed
    assert allowed <= per_s * 4 + per_s * now + 1e-6


@given(per_s=st.integers(1, 20), waits=waits)
def test_whoever_waits_as_told_is_let_in(per_s: int, waits: list[float]) -> None:
    limiter, now = RateLimiter(per_s), 0.0
    for wait in waits:
        now += wait / 100
        state = limiter.take("house", now)
        if not state.allowed:
            now += state.retry_after_s
            assert limiter.take("house", now).allowed


def test_houses_do_not_share() -> None:
    limiter = RateLimiter(1)
    assert [limiter.take("a", 0.0).allowed for _ in range(5)] == [True] * 4 + [False]
    assert limiter.take("b", 0.0).allowed


def test_no_limit_and_limits_of_its_own() -> None:
    limiter = RateLimiter(0)
    assert limiter.take("a", 0.0) == UNLIMITED
    assert rate_fields(UNLIMITED) == {}
    assert limiter.take("a", 0.0, per_s=5).quota == 20


def test_many_at_once_cost_many_tokens() -> None:
    limiter = RateLimiter(10)
    assert limiter.take("a", 0.0, count=30).remaining == 10
    refused = limiter.take("a", 0.0, count=30)
    assert (refused.allowed, refused.remaining, refused.retry_after_s) == (False, 10, 2)
    assert rate_fields(refused) == {
        "RateLimit-Policy": '"default";q=40;w=4',
        "RateLimit": '"default";r=10;t=3',
        "Retry-After": "2",
    }


@given(
    per_s=st.integers(1, 20), calls=st.lists(st.tuples(st.floats(0, 30), st.integers(1, 500)), min_size=1, max_size=30)
)
def test_nobody_gets_more_by_asking_for_much_at_once(per_s: int, calls: list[tuple[float, int]]) -> None:
    """Over any time, all but the last call fit into a bucket and what time adds."""
    limiter, now, given_out, last = RateLimiter(per_s), 0.0, 0, 0
    for wait, count in calls:
        now += wait
        if limiter.take("house", now, count=count).allowed:
            given_out, last = given_out + count, count
    assert given_out - last <= per_s * 4 + per_s * now + 1e-6


def test_a_call_larger_than_a_bucket_is_paid_for_afterwards() -> None:
    limiter = RateLimiter(10)
    assert limiter.take("a", 0.0, count=1_000).remaining == 0
    refused = limiter.take("a", 4.0)
    assert (refused.allowed, refused.retry_after_s) == (False, 93)
    assert limiter.take("a", 97.0).allowed
