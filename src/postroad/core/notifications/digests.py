"""Digests: at most one notification for each subscription, event and digest time, with the number of events.

The first event of a kind is sent after ``GATHER_US``, which joins the events of a storm; events after it are sent together when
the digest time has passed. A cause that has ended closes with a last line. Rules: pure, so the same events at the same times make
equal notifications. Memory is bounded, however many events arrive and however long a channel fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

from msgspec import Struct, field
from msgspec.structs import replace

from postroad.core.model.subscription import Severity, Subscription
from postroad.core.notifications.catalog import find_kind
from postroad.core.notifications.event import NotifiableEvent

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
GATHER_US = 15 * SECOND_US
MAX_CAUSES = 200  # remembered for one subscription and event; the events of others are counted together
MAX_LINES = 20  # in one notification
FIRST_RETRY_US = MINUTE_US
LAST_RETRY_US = 60 * MINUTE_US


class EventCause(Struct, frozen=True):
    """What a subscription knows of one cause."""

    subject: str
    detail: str
    severity: Severity
    first_at_us: int
    last_at_us: int
    fresh: int = 0  # events since the last notification
    told: bool = False
    recovered_at_us: int = 0  # 0: it goes on


class NotificationLine(Struct, frozen=True):
    """One cause in a notification."""

    subject: str
    detail: str
    count: int
    first_at_us: int
    last_at_us: int
    recovered: bool = False


class Notification(Struct, frozen=True):
    """What is sent to one subscription; its id is the same however often it is sent."""

    id: str
    event: str
    organization: str  # of the subscription
    subscription: str  # its name
    severity: Severity
    at_us: int
    count: int  # of events
    lines: tuple[NotificationLine, ...]
    left_out: int = 0  # causes without a line

    @property
    def is_recovery(self) -> bool:
        """Whether it only reports that causes have ended."""
        return bool(self.lines) and all(line.recovered for line in self.lines)


class EventDigest(Struct):
    """What has to be sent to one subscription about one event; mutable."""

    causes: dict[str, EventCause] = field(default_factory=dict)
    others: int = 0  # events of causes beyond MAX_CAUSES since the last notification
    quiet_until_us: int = 0
    due_at_us: int = 0  # 0: nothing to send
    pending: Notification | None = None  # made, and not sent yet
    failures: int = 0  # to send the pending one
    retry_at_us: int = 0
    fault: str = ""  # of the latest failure
    sent_at_us: int = 0

    def absorb(self, event: NotifiableEvent, now_us: int) -> None:
        """Add an event; it becomes part of the next notification."""
        known = self.causes.get(event.subject)
        if event.recovered:
            self._close(event, known)
        elif known is None and len(self.causes) >= MAX_CAUSES:
            self.others += event.times
        else:
            self.causes[event.subject] = _more(known, event)
        if self.due_at_us == 0 and self._has_news():
            self.due_at_us = max(now_us + GATHER_US, self.quiet_until_us)

    def _close(self, event: NotifiableEvent, known: EventCause | None) -> None:
        """End a cause; one that no one was notified of is forgotten."""
        if known is None or known.recovered_at_us:
            return
        if known.told:
            self.causes[event.subject] = replace(
                known, recovered_at_us=event.at_us, detail=event.detail or known.detail
            )
        else:
            del self.causes[event.subject]
            if not self._has_news():
                self.due_at_us = 0

    def _has_news(self) -> bool:
        return bool(self.others) or any(one.fresh or one.recovered_at_us for one in self.causes.values())

    def make_due(self, name: str, subscription: Subscription, now_us: int) -> Notification | None:
        """Make the notification that is due now, if there is one and the last one has been sent; it is pending from now on."""
        if self.pending is not None or not self.due_at_us or now_us < self.due_at_us:
            return None
        news = [one for one in self.causes.values() if one.fresh or one.recovered_at_us]
        self.pending = _notification(name, subscription, news, self.others, now_us)
        goes_on = find_kind(name).recovers
        self.causes = {
            subject: replace(one, fresh=0, told=True)
            for subject, one in self.causes.items()
            if goes_on and not one.recovered_at_us
        }
        self.others, self.due_at_us, self.retry_at_us = 0, 0, now_us
        self.quiet_until_us = now_us + subscription.digest_minutes * MINUTE_US
        return self.pending

    def record_success(self, now_us: int) -> None:
        self.pending, self.failures, self.retry_at_us, self.fault, self.sent_at_us = None, 0, 0, "", now_us

    def record_failure(self, fault: str, now_us: int) -> None:
        """Keep the pending notification, and try it again later and later, at least once an hour."""
        self.failures += 1
        self.fault = fault
        self.retry_at_us = now_us + min(LAST_RETRY_US, FIRST_RETRY_US << min(self.failures - 1, 10))

    def next_at_us(self) -> int:
        """Return when there is something to do; 0: not before the next event."""
        return self.retry_at_us if self.pending is not None else self.due_at_us


def _more(known: EventCause | None, event: NotifiableEvent) -> EventCause:
    if known is None or not known.fresh:
        was_told = known is not None and known.told
        return EventCause(
            subject=event.subject,
            detail=event.detail,
            severity=event.level,
            first_at_us=event.at_us,
            last_at_us=event.at_us,
            fresh=event.times,
            told=was_told,
        )
    return replace(
        known,
        detail=event.detail,
        severity=max(known.severity, event.level, key=lambda level: level.rank),
        last_at_us=max(known.last_at_us, event.at_us),
        fresh=known.fresh + event.times,
    )


def _notification(
    name: str, subscription: Subscription, news: list[EventCause], others: int, now_us: int
) -> Notification:
    shown = sorted(news, key=lambda one: (-one.fresh, one.subject))
    lines = tuple(_lines(shown[:MAX_LINES]))
    severities = [one.severity for one in news if one.fresh] or [Severity.INFO]
    identity = f"{subscription.key}\n{name}\n{now_us}"
    return Notification(
        id=blake2b(identity.encode(), digest_size=16).hexdigest(),
        event=name,
        organization=subscription.organization,
        subscription=subscription.name,
        severity=max(severities, key=lambda level: level.rank),
        at_us=now_us,
        count=sum(one.fresh for one in news) + others,
        lines=lines,
        left_out=len(shown) - len(lines) + (1 if others else 0),
    )


def _lines(causes: list[EventCause]) -> Iterator[NotificationLine]:
    for one in causes:
        ended = one.recovered_at_us
        yield NotificationLine(
            subject=one.subject,
            detail=one.detail,
            count=one.fresh,
            first_at_us=one.first_at_us,
            last_at_us=ended or one.last_at_us,
            recovered=bool(ended),
        )
