"""Request rate limits: one token bucket for each organization.

A bucket holds ``burst`` tokens and gains ``per_s`` a second; a request takes one. A call that needs more than a full bucket
waits for a full one and leaves it negative, so that large requests get no more than small ones. Rule: pure arithmetic on
its arguments, with a bounded number of buckets; a bucket that was unused for long is full, so it can be dropped.
"""

from __future__ import annotations

from collections import OrderedDict
from math import ceil
from typing import NamedTuple

MAX_BUCKETS = 100_000
BURST_S = 4  # a full bucket lasts this many seconds at the allowed rate


class RateState(NamedTuple):
    """The remaining allowance of an organization, as the RateLimit response fields report it."""

    allowed: bool
    quota: int  # tokens in a full bucket; 0 = there is no limit
    window_s: int  # seconds until an empty bucket is full
    remaining: int
    reset_s: int  # seconds until the bucket is full again
    retry_after_s: int  # seconds until the next token, if there is none


UNLIMITED = RateState(allowed=True, quota=0, window_s=0, remaining=0, reset_s=0, retry_after_s=0)


class RateLimiter:
    """The buckets of all organizations; ``per_s`` 0 means no limit."""

    def __init__(self, per_s: int, *, burst_s: int = BURST_S) -> None:
        self.per_s = per_s
        self._burst_s = burst_s
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when they were counted

    def take(self, organization: str, now: float, *, per_s: int = 0, count: int = 1) -> RateState:
        """Take ``count`` tokens if available; ``now`` is in monotonic seconds."""
        rate = per_s or self.per_s
        if rate <= 0:
            return UNLIMITED
        quota = rate * self._burst_s
        tokens, counted_at = self._buckets.pop(organization, (float(quota), now))
        tokens = min(float(quota), tokens + max(0.0, now - counted_at) * rate)
        wanted = min(count, quota)
        allowed = tokens >= wanted
        if allowed:
            tokens -= count
        self._buckets[organization] = tokens, now
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
        return RateState(
            allowed=allowed,
            quota=quota,
            window_s=self._burst_s,
            remaining=max(0, int(tokens)),
            reset_s=ceil((quota - tokens) / rate),
            retry_after_s=0 if allowed else max(1, ceil((wanted - tokens) / rate)),
        )


def rate_fields(state: RateState, policy: str = "default") -> dict[str, str]:
    """Return the RateLimit-Policy and RateLimit fields (IETF draft 11); empty if there is no limit."""
    if not state.quota:
        return {}
    fields = {
        "RateLimit-Policy": f'"{policy}";q={state.quota};w={state.window_s}',
        "RateLimit": f'"{policy}";r={state.remaining};t={state.reset_s}',
    }
    return fields if state.allowed else fields | {"Retry-After": str(state.retry_after_s)}
