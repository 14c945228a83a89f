"""Where pushes for one service go: to its main place, or to the backup where it has one; and how well each of them is.

Kept rules: a delivery's first tries are for the main place, the next ones for the backup. What a breaker keeps from the one goes
to the other meanwhile, so that a service of which one place is well is never let alone. A place whose address is gone for good
gets nothing more, as long as there is another. Time is an argument, as for breakers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from postroad.core.delivery.breaker import Breaker, Opened
from postroad.core.model.directory import Push


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where one try goes, and what there is besides."""

    push: Push  # the place
    attempt: int  # over all places; the first is 1
    tries: int  # over all places
    is_backup: bool = False
    another: bool = False  # whether there is another place that is not gone

    @property
    def attempt_there(self) -> int:
        """The how manieth try it is of those that are for this place."""
        before = self.tries - self.push.tries if self.is_backup else 0
        return self.attempt - before if self.attempt > before else self.attempt

    @property
    def is_last_here(self) -> bool:
        """Whether the next try is for the backup."""
        return self.another and not self.is_backup and self.attempt == self.push.tries


def target_at(push: Push, attempt: int) -> Target:
    """For whom a try is by its number alone."""
    is_backup = push.backup is not None and attempt > push.tries
    place = push.backup if is_backup and push.backup is not None else push
    return Target(
        push=place, attempt=attempt, tries=push.tries_everywhere, is_backup=is_backup, another=push.backup is not None
    )


@dataclass(slots=True, kw_only=True)
class _Standing:
    push: Push
    is_backup: bool
    breaker: Breaker = field(default_factory=Breaker)
    is_gone: bool = False


class Places:
    """The places of one service, for as long as its profile stays as it is."""

    def __init__(self, push: Push) -> None:
        self._tries = push.tries_everywhere
        self._all = [_Standing(push=place, is_backup=place is not push) for place in push.places]

    @property
    def are_let_alone(self) -> bool:
        """Whether nothing but a probe may be pushed anywhere."""
        return all(one.breaker.is_open for one in self._there)

    def allows_from(self, now_s: float) -> float:
        """The first moment from ``now_s`` on at which something may be pushed somewhere."""
        return min(one.breaker.allows_from(now_s) for one in self._there)

    def opened(self) -> Opened | None:
        """Why nothing but a probe may be pushed anywhere, by the place that is probed first; None where pushes are allowed."""
        opened = [one.breaker.opened for one in self._there]
        closed = any(one is None for one in opened)
        return None if closed else min((one for one in opened if one is not None), key=lambda one: one.probe_at_s)

    def probe_now(self, now_s: float) -> None:
        """Let the next push to each place pass at once."""
        for one in self._there:
            one.breaker.probe_now(now_s)

    def target(self, attempt: int, now_s: float) -> Target:
        """Where try number ``attempt`` of a delivery goes; where a breaker is open, this is its probe."""
        there = self._there
        meant = there[-1] if attempt > self._all[0].push.tries else there[0]
        allowing = (one for one in (meant, *there) if one.breaker.allows(now_s))
        found = next(allowing, meant)
        return Target(
            push=found.push, attempt=attempt, tries=self._tries, is_backup=found.is_backup, another=len(there) > 1
        )

    def succeeded(self, target: Target, now_s: float) -> bool:
        """Record a push that succeeded; True if it closed the breaker of its place."""
        return self._standing(target).breaker.succeeded(now_s)

    def failed(self, target: Target, now_s: float) -> None:
        self._standing(target).breaker.failed(now_s)

    def is_gone(self, target: Target) -> None:
        """The receiver says that there is nothing at this address any more."""
        self._standing(target).is_gone = True

    @property
    def _there(self) -> list[_Standing]:
        return [one for one in self._all if not one.is_gone] or self._all

    def _standing(self, target: Target) -> _Standing:
        return next(one for one in self._all if one.is_backup is target.is_backup)
