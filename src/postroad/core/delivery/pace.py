"""How much a receiver is trusted with: how many pushes at once, and whether it counts as quick.

Kept rule: nobody is trusted before it has answered. A receiver that is new, or has just failed, gets one push at a time; each
success doubles that. It is quick while its answers come within a second; whoever is not, or has yet to show it, shares places
with others of its kind and not with the quick ones.
"""

from __future__ import annotations

AT_ONCE = 8
QUICK_S = 1.0


class Pace:
    __slots__ = ("at_once", "is_quick")

    def __init__(self) -> None:
        self.at_once = 1
        self.is_quick = False

    def succeeded(self, took_s: float) -> None:
        self.at_once = min(AT_ONCE, 2 * self.at_once)
        self.is_quick = took_s < QUICK_S

    def failed(self) -> None:
        self.at_once = 1
        self.is_quick = False

    def is_late(self) -> None:
        """An answer is not there when a quick receiver's would have been."""
        self.is_quick = False
