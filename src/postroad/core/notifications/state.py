"""Everything that notifications remember, as one document that is saved with every change.

Rule: ``seq`` is the last journal entry that the document contains, so an entry that is read again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import Struct, field

from postroad.core.model.snapshot import Directory
from postroad.core.notifications.conditions import KnownCondition
from postroad.core.notifications.digests import EventDigest, Notification
from postroad.core.notifications.event import NotifiableEvent, find_subscribers


class FailingPushes(Struct):
    """Pushes to a service that fail without a success between them."""

    since_us: int
    last_us: int
    next_us: int  # when the next push is due; a streak without a next push is not reported
    reported: str = ""  # the longest time that was reported


class NotificationState(Struct):
    """What the notifications of one network remember; mutable."""

    seq: int = 0
    failing: dict[str, FailingPushes] = field(default_factory=dict)  # by GCID
    conditions: list[KnownCondition] = field(default_factory=list)
    digests: dict[str, dict[str, EventDigest]] = field(default_factory=dict)  # by subscription, then by event
    own: list[int] = field(default_factory=list)  # the newest deliveries of notifications

    def absorb(self, events: Iterable[NotifiableEvent], directory: Directory, now_us: int) -> None:
        """Add events to the digests of their subscriptions."""
        for event in events:
            for subscription in find_subscribers(event, directory):
                self.digest(subscription.key, event.name).absorb(event, now_us)

    def digest(self, subscription: str, event: str) -> EventDigest:
        return self.digests.setdefault(subscription, {}).setdefault(event, EventDigest())

    def welcome(self, directory: Directory, now_us: int) -> None:
        """Report the conditions that are known to subscriptions that are new."""
        for key, subscription in sorted(directory.subscriptions.items()):
            if key not in self.digests:
                self.digests[key] = {}
                for event in (one.begin(now_us) for one in self.conditions):
                    if subscription in find_subscribers(event, directory):
                        self.digest(key, event.name).absorb(event, now_us)

    def make_due(self, directory: Directory, now_us: int) -> list[Notification]:
        """Make all notifications that are due now; forget subscriptions that have been removed."""
        table = directory.subscriptions
        self.digests = {key: found for key, found in self.digests.items() if key in table}
        made = [
            digest.make_due(name, table[key], now_us)
            for key, found in sorted(self.digests.items())
            for name, digest in sorted(found.items())
        ]
        return [one for one in made if one is not None]

    def find_pending(self, now_us: int) -> Iterator[tuple[str, Notification]]:
        """Yield the notifications that should be sent or tried again now, with the keys of their subscriptions."""
        for key, found in sorted(self.digests.items()):
            for _, digest in sorted(found.items()):
                if digest.pending is not None and digest.retry_at_us <= now_us:
                    yield key, digest.pending

    def find_failing(self) -> Iterator[str]:
        """Yield the key of the subscription of each notification that could not be sent and is tried again."""
        for key, found in self.digests.items():
            yield from (key for digest in found.values() if digest.pending is not None and digest.failures)

    def next_at_us(self) -> int:
        """Return when the next notification is due or tried again; 0: none is known."""
        times = [digest.next_at_us() for found in self.digests.values() for digest in found.values()]
        return min((at_us for at_us in times if at_us), default=0)

    def health(self, subscription: str) -> ChannelHealth:
        """Return how sending to a subscription goes."""
        found = self.digests.get(subscription, {}).values()
        failing = [one for one in found if one.failures]
        worst = max(failing, key=lambda one: one.failures, default=None)
        return ChannelHealth(
            sent_at_us=max((one.sent_at_us for one in found), default=0),
            waiting=sum(one.pending is not None for one in found),
            failures=worst.failures if worst is not None else 0,
            fault=worst.fault if worst is not None else "",
            retry_at_us=worst.retry_at_us if worst is not None else 0,
        )


class ChannelHealth(NamedTuple):
    """How sending to one subscription goes."""

    sent_at_us: int = 0  # 0: nothing was sent yet
    waiting: int = 0  # notifications that could not be sent yet
    failures: int = 0  # attempts at the oldest of them
    fault: str = ""
    retry_at_us: int = 0


encode_state = msgspec.json.Encoder().encode
decode_state = msgspec.json.Decoder(NotificationState).decode
