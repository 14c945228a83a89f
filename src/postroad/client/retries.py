"""Retry policy: whether to retry and how long to wait, without a clock or randomness.

Rules: only errors that the caller cannot have caused are retried. The wait is never shorter than the network's
Retry-After. Waits grow and are spread by ``jitter`` (0 to 1), so that many clients do not return at the same moment.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.client.steps import NoResponse, RequestOutcome

LATER = frozenset({429, 502, 503, 504, 507})
NOT_LATER = b"authentication.throttled"  # wrong credentials do not get better by trying them again


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """The retry policy; ``tries`` includes the first one, so 1 never retries."""

    tries: int = 6
    first_s: float = 0.2
    most_s: float = 20.0
    patience_s: float = 120.0  # a longer Retry-After is reported to the caller instead of waited for

    def pause_s(self, tried: int, outcome: RequestOutcome, jitter: float) -> float | None:
        """Return the seconds to wait before the next try, or None if this outcome is final."""
        if tried >= self.tries or not _passes(outcome):
            return None
        asked_s = 0.0 if isinstance(outcome, NoResponse) else outcome.retry_after_s
        if asked_s > self.patience_s:
            return None
        return asked_s + self.growing_s(tried, jitter)

    def growing_s(self, tried: int, jitter: float) -> float:
        """Return a wait that doubles with every try, reduced by up to half."""
        whole_s = min(self.most_s, self.first_s * 2.0 ** (tried - 1))
        return whole_s * (0.5 + jitter / 2)


def _passes(outcome: RequestOutcome) -> bool:
    """Whether this kind of failure is temporary."""
    if isinstance(outcome, NoResponse):
        return True
    return outcome.status in LATER and NOT_LATER not in outcome.body
