"""Conditions: what is true for a time, such as a certificate that expires soon; their begin and end are events.

Rule: a condition is reported once when it begins, again when its level changes, and once when it ends. What was reported is
remembered by its name, organization and subject, so a restart repeats nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct

from postroad.core.model.subscription import Severity
from postroad.core.notifications.event import NotifiableEvent


class Condition(NamedTuple):
    """Something that is true now; ``level`` tells its stages apart."""

    name: str  # of the catalog
    organization: str  # empty: it concerns the network
    subject: str
    detail: str = ""
    level: str = ""
    severity: Severity | None = None


class KnownCondition(Struct, frozen=True, array_like=True):
    """A condition that was reported."""

    name: str
    organization: str
    subject: str
    level: str
    detail: str = ""
    severity: Severity | None = None

    def begin(self, at_us: int) -> NotifiableEvent:
        """Return the event that reports it."""
        return NotifiableEvent(self.name, self.organization, self.subject, at_us, self.detail, self.severity)


def compare_conditions(
    known: Iterable[KnownCondition], found: Iterable[Condition], checked: Collection[str], now_us: int
) -> tuple[list[KnownCondition], list[NotifiableEvent]]:
    """Return what is known after a check of the events ``checked``, and the events that it makes."""
    before = {(one.name, one.organization, one.subject): one for one in known}
    now = {(one.name, one.organization, one.subject): one for one in found}
    after = [one for one in before.values() if one.name not in checked]
    current = {key: KnownCondition(*one[:3], one.level, one.detail, one.severity) for key, one in now.items()}
    after += current.values()
    begun = [one.begin(now_us) for key, one in current.items() if key not in before or before[key].level != one.level]
    after.sort(key=lambda one: (one.name, one.organization, one.subject))
    return after, begun + list(_ended(before, now, checked, now_us))


def _ended(
    before: dict[tuple[str, str, str], KnownCondition],
    now: dict[tuple[str, str, str], Condition],
    checked: Collection[str],
    now_us: int,
) -> Iterator[NotifiableEvent]:
    for key, one in before.items():
        if one.name in checked and key not in now:
            yield NotifiableEvent(one.name, one.organization, one.subject, now_us, recovered=True)
