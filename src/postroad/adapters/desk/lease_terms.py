"""The terms of a claim at the local desk."""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.delivery.mailbox import UNRECORDED, ClaimedDeliveries, Mailbox
from postroad.core.model.selector import Selector


class LeaseTerms(NamedTuple):
    """Which deliveries a claim requests, and how often one may be handed out."""

    selector: Selector
    attempts_most: int
    up_to: int  # the highest requested number
    early: bool = False  # include deliveries that wait for a push retry
    searched_to: int = 0  # up to this number, all matching deliveries are in memory

    def take(self, box: Mailbox, most: int, now: float, now_us: int) -> ClaimedDeliveries:
        """Lease up to ``most`` deliveries of the mailbox, until their hand-out is recorded."""
        return box.take(
            self.selector,
            most,
            now,
            now_us,
            UNRECORDED,
            self.attempts_most,
            up_to=self.up_to,
            early=self.early,
            searched_to=self.searched_to,
        )

    def take_one(self, box: Mailbox, number: int, now_us: int, taken: ClaimedDeliveries) -> None:
        """Lease this delivery, if it is available."""
        box.take_one(number, now_us, UNRECORDED, self.attempts_most, taken, self.early)
