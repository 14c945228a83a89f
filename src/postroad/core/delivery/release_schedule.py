"""Store and forward: when waiting deliveries of a service are released, and when they expire.

Rule: the first criterion that is met wins, and a further message never delays a release. The period counts from the
oldest waiting message, so no message waits longer. A restart changes nothing: the result depends only on the
waiting messages, their times, and the latest release. A time limit applies to each message separately. Time is an
argument.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.delivery.reasons import make_reason
from postroad.core.model.directory import Release
from postroad.core.model.reason import Reason

SECOND_US = 1_000_000
ON_REQUEST = "on request"


class HeldDeliveries(NamedTuple):
    """The unreleased deliveries of a mailbox: their number, oldest time and highest delivery number."""

    waiting: int = 0
    oldest_at_us: int = 0
    newest: int = 0


NOTHING_HELD = HeldDeliveries()


class DueRelease(NamedTuple):
    """When waiting deliveries are released, and why."""

    at_us: int
    reason: str


def next_release(release: Release, held: HeldDeliveries, now_us: int) -> DueRelease | None:
    """Return when waiting deliveries are released if no more arrive; None if no time releases them."""
    if not held.waiting:
        return None
    if 0 < release.when_waiting <= held.waiting:
        return DueRelease(now_us, f"{release.when_waiting} were waiting")
    if release.every_s:
        at_us = held.oldest_at_us + release.every_s * SECOND_US
        return DueRelease(max(at_us, now_us), f"the oldest had waited {release.every_s} s")
    return None


def kept_until_us(keep_s: int, queued_at_us: int) -> int:
    """Return when a message that was queued at this time expires."""
    return queued_at_us + keep_s * SECOND_US


def expiry_reason(keep_s: int) -> Reason:
    """Return the reason of expiry."""
    return make_reason("delivery.kept-too-long", seconds=keep_s)
