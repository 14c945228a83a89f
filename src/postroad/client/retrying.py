"""When to try again and how long to wait first: a decision without a clock or a die of its own.

Kept rules: only what cannot have been the caller's fault is tried again; the network's Retry-After is never undercut; waits
grow and are spread by ``jitter`` (0 to 1), so that many clients do not come back at the same moment.
"""

from __future__ import annotations

from dataclasses import dataclass

from postroad.client.exchange import Lost, Outcome

LATER = frozenset({429, 502, 503, 504, 507})
NOT_LATER = b"authentication.throttled"  # wrong credentials do not get better by trying them again


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrying:
    """``tries`` includes the first one; 1 never tries again."""

    tries: int = 6
    first_s: float = 0.2
    most_s: float = 20.0
    patience_s: float = 120.0  # a longer Retry-After is reported to the caller instead of waited for

    def pause_s(self, tried: int, outcome: Outcome, jitter: float) -> float | None:
        """Seconds to wait before the next try, or None when this outcome is the last word."""
        if tried >= self.tries or not _passes(outcome):
            return None
        asked_s = 0.0 if isinstance(outcome, Lost) else outcome.retry_after_s
        if asked_s > self.patience_s:
            return None
        return asked_s + self.growing_s(tried, jitter)

    def growing_s(self, tried: int, jitter: float) -> float:
        """Between half and the whole of a wait that doubles with every try."""
        whole_s = min(self.most_s, self.first_s * 2.0 ** (tried - 1))
        return whole_s * (0.5 + jitter / 2)


def _passes(outcome: Outcome) -> bool:
    """Whether this is the kind of failure that passes by itself."""
    if isinstance(outcome, Lost):
        return True
    return outcome.status in LATER and NOT_LATER not in outcome.body
