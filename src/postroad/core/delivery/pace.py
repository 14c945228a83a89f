"""Limits concurrent pushes to a receiver, and records whether the receiver is fast.

Rule: a receiver that is new, or has just failed, gets one push at a time; each success doubles the limit. A receiver
is quick while it responds within a second. Receivers that are slow, or have not responded yet, share slots with each
other and not with the quick ones.
"""

from __future__ import annotations

MAX_AT_ONCE = 8
QUICK_S = 1.0


class ReceiverPace:
    __slots__ = ("at_once", "is_quick")

    def __init__(self) -> None:
        self.at_once = 1
        self.is_quick = False

    def record_success(self, took_s: float) -> None:
        self.at_once = min(MAX_AT_ONCE, 2 * self.at_once)
        self.is_quick = took_s < QUICK_S

    def record_failure(self) -> None:
        self.at_once = 1
        self.is_quick = False

    def mark_slow(self) -> None:
        """Record that the receiver did not respond within QUICK_S, and treat it as slow."""
        self.is_quick = False
