"""When refused clients are told to return: not earlier than asked for, and not all at once."""

from __future__ import annotations

import pytest

from postroad.api.http.request import Headers
from postroad.api.http.retry_after import RetryAfter


class EveryByte:
    """Each random byte once, in order."""

    def __init__(self) -> None:
        self._next = 0

    def bytes(self, count: int) -> bytes:
        drawn = bytes((self._next + place) % 256 for place in range(count))
        self._next += count
        return drawn


def answers(status: int, headers: Headers) -> set[int]:
    retry_after = RetryAfter(EveryByte())
    return {int(dict(retry_after.add(status, headers))[b"retry-after"]) for _ in range(256)}


@pytest.mark.parametrize(("asked_s", "expected"), [(1, {1, 2, 3}), (5, {5, 6, 7, 8, 9, 10}), (30, set(range(30, 61)))])
def test_the_time_is_spread_upwards(asked_s: int, expected: set[int]) -> None:
    assert answers(503, [(b"retry-after", str(asked_s).encode())]) == expected
    assert answers(429, [(b"retry-after", str(asked_s).encode())]) == expected


def test_every_503_and_429_says_when_to_return() -> None:
    assert answers(503, ()) == answers(429, [(b"x-other", b"1")]) == {1, 2, 3}


def test_other_answers_and_dates_stay_as_they_are() -> None:
    date = [(b"retry-after", b"Thu, 19 Nov 2026 20:00:00 GMT")]
    retry_after = RetryAfter(EveryByte())
    assert retry_after.add(503, date) == date
    assert retry_after.add(507, [(b"x-other", b"1")]) == [(b"x-other", b"1")]
    assert retry_after.add(507, [(b"retry-after", b"30"), (b"x-other", b"1")])[0] == (b"x-other", b"1")
