"""An event: a small value that any part of the network can make, and that subscriptions are matched with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import OPERATORS, Severity, Subscription
from postroad.core.notifications.catalog import Audience, find_kind


class NotifiableEvent(NamedTuple):
    """Something that people are notified of; ``subject`` names its cause: one line in a notification."""

    name: str  # of the catalog
    organization: str  # empty: it concerns the network
    subject: str
    at_us: int
    detail: str = ""
    severity: Severity | None = None  # None: the usual one of its kind
    times: int = 1
    recovered: bool = False  # the cause has ended

    @property
    def level(self) -> Severity:
        return self.severity or find_kind(self.name).severity


def find_subscribers(event: NotifiableEvent, directory: Directory) -> Iterator[Subscription]:
    """Yield the subscriptions that the event is for.

    Operators receive events that are meant for them, and events of all organizations that their subscription names.
    """
    table, for_operators = directory.subscriptions, is_for_operators(event)
    if not for_operators:
        yield from (one for _, one in sorted(table.of(event.organization.casefold()).items()) if _fits(one, event))
    for _, one in sorted(table.of(OPERATORS).items()):
        if (for_operators or event.name in one.events) and _fits(one, event):
            yield one


def is_for_operators(event: NotifiableEvent) -> bool:
    """Whether the event is meant for the operators alone."""
    return not event.organization or find_kind(event.name).audience is Audience.OPERATORS


def _fits(subscription: Subscription, event: NotifiableEvent) -> bool:
    if subscription.events and event.name not in subscription.events:
        return False
    return event.recovered or event.level.rank >= subscription.least_severity.rank
