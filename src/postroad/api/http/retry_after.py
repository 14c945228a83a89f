"""Spreads Retry-After, so that clients that were refused together do not return together.

Rule: a client is never told to return earlier than the refusal asks for, and every 429 and 503 has a Retry-After.
"""

from __future__ import annotations

from postroad.api.http.request import Headers
from postroad.ports import Randomness

NAME = b"retry-after"
ALWAYS = frozenset({429, 503})
SPREAD = ALWAYS | {507}  # full storage: only with a Retry-After of its own
LEAST_SPREAD_S, MAX_SPREAD_S = 2, 60


class RetryAfter:
    __slots__ = ("_randomness",)

    def __init__(self, randomness: Randomness) -> None:
        self._randomness = randomness

    def spread(self, least_s: int) -> int:
        """Return a random number of seconds from ``least_s`` to twice as many, but up to ``least_s`` + 2 at least."""
        width_s = min(MAX_SPREAD_S, max(LEAST_SPREAD_S, least_s))
        return least_s + self._randomness.bytes(1)[0] % (width_s + 1)

    def add(self, status: int, headers: Headers) -> Headers:
        """Return the headers of a response with this status, with Retry-After spread or added."""
        asked = next((value for name, value in headers if name == NAME), b"1" if status in ALWAYS else b"")
        if not asked.isdigit():
            return headers
        others = [pair for pair in headers if pair[0] != NAME]
        return [*others, (NAME, str(self.spread(int(asked))).encode())]
