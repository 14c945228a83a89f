"""Pushes that fail for a long time: followed entry by entry, and reported after an hour and after a day.

Rule: a streak is reported only while another push is due, so a service that no message waits for is not failing.
"""

from __future__ import annotations

from collections.abc import Iterator

from postroad.core.model.journal import DeliveriesAcknowledged, DeliveryAttempted, Entry
from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import Severity
from postroad.core.notifications.conditions import Condition
from postroad.core.notifications.state import FailingPushes, NotificationState

HOUR_US = 3_600 * 1_000_000
DAY_US = 24 * HOUR_US
SLACK_US = HOUR_US  # a push is due, and waits for a slot, a window or a release
FORGET_US = 4 * DAY_US  # without attempts, nothing is known of the endpoint
STAGES = ((DAY_US, "1 day", Severity.ERROR), (HOUR_US, "1 hour", Severity.WARNING))


def follow_pushes(state: NotificationState, entry: Entry, own: frozenset[int] | set[int]) -> None:
    """Note a failed or successful push; ``own`` are the deliveries of notifications."""
    if isinstance(entry, DeliveryAttempted) and entry.is_put_off and not own.issuperset(entry.deliveries):
        next_us = entry.at_us + int(entry.delay_s * 1_000_000)
        known = state.failing.get(entry.by)
        if known is None or entry.at_us - known.last_us > FORGET_US:
            state.failing[entry.by] = FailingPushes(entry.at_us, entry.at_us, next_us)
        else:
            known.last_us, known.next_us = entry.at_us, max(known.next_us, next_us)
    elif isinstance(entry, DeliveriesAcknowledged):
        state.failing.pop(entry.by, None)


def find_failing_pushes(state: NotificationState, directory: Directory, now_us: int) -> Iterator[Condition]:
    """Yield a condition for each service whose pushes have failed for a long time; forget old streaks."""
    state.failing = {
        gcid: one
        for gcid, one in state.failing.items()
        if gcid in directory.services and max(one.last_us, one.next_us) + FORGET_US > now_us
    }
    for gcid, one in sorted(state.failing.items()):
        service = directory.services[gcid]
        passed_us = now_us - one.since_us
        stage = next((stage for stage in STAGES if passed_us >= stage[0]), None)
        if stage is None or (not one.reported and now_us > one.next_us + SLACK_US):
            continue
        one.reported = stage[1]
        text = f"no push has succeeded for {stage[1]}"
        yield Condition("push.failing", service.organization, service.address, text, stage[1], stage[2])
