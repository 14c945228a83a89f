"""The push endpoints of a service, main and backup, and their circuit breakers.

Rules: a delivery's first attempts go to the main endpoint, later ones to the backup. A push that a breaker stops at one
endpoint goes to the other, so that a service with one working endpoint is always served. An endpoint whose
address is permanently gone gets no more pushes as long as there is another. Time is an argument, as for breakers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from postroad.core.delivery.circuit_breaker import Breaker, OpenBreaker
from postroad.core.model.directory import Push


@dataclass(frozen=True, slots=True, kw_only=True)
class PushTarget:
    """The endpoint of one attempt, and whether there is another."""

    push: Push  # the endpoint
    attempt: int  # over all endpoints; the first is 1
    tries: int  # over all endpoints
    is_backup: bool = False
    another: bool = False  # whether there is another endpoint that is not gone

    @property
    def endpoint_attempt(self) -> int:
        """Attempt number at this endpoint, starting at 1."""
        before = self.tries - self.push.tries if self.is_backup else 0
        return self.attempt - before if self.attempt > before else self.attempt

    @property
    def is_last_at_endpoint(self) -> bool:
        """True if the next attempt goes to the backup."""
        return self.another and not self.is_backup and self.attempt == self.push.tries


def target_at(push: Push, attempt: int) -> PushTarget:
    """Return the endpoint of an attempt by its number alone."""
    is_backup = push.backup is not None and attempt > push.tries
    place = push.backup if is_backup and push.backup is not None else push
    return PushTarget(
        push=place, attempt=attempt, tries=push.total_tries, is_backup=is_backup, another=push.backup is not None
    )


@dataclass(slots=True, kw_only=True)
class _EndpointHealth:
    push: Push
    is_backup: bool
    breaker: Breaker = field(default_factory=Breaker)
    is_gone: bool = False


class PushEndpoints:
    """The push endpoints of one service, for as long as its profile is unchanged."""

    def __init__(self, push: Push) -> None:
        self._tries = push.total_tries
        self._all = [_EndpointHealth(push=place, is_backup=place is not push) for place in push.places]

    @property
    def only_probes_allowed(self) -> bool:
        """True if only probes may be pushed to any endpoint."""
        return all(one.breaker.is_open for one in self._there)

    def allows_from(self, now_s: float) -> float:
        """Return the first moment from ``now_s`` on at which a push to any endpoint is allowed."""
        return min(one.breaker.allows_from(now_s) for one in self._there)

    def find_open_breaker(self) -> OpenBreaker | None:
        """Return why only probes are allowed, from the endpoint that is probed first; None if pushes are allowed."""
        opened = [one.breaker.opened for one in self._there]
        closed = any(one is None for one in opened)
        return None if closed else min((one for one in opened if one is not None), key=lambda one: one.probe_at_s)

    def probe_now(self, now_s: float) -> None:
        """Let the next push to each endpoint pass at once."""
        for one in self._there:
            one.breaker.probe_now(now_s)

    def target(self, attempt: int, now_s: float) -> PushTarget:
        """Return the endpoint for attempt number ``attempt``; at an open breaker the attempt is its probe."""
        there = self._there
        meant = there[-1] if attempt > self._all[0].push.tries else there[0]
        allowing = (one for one in (meant, *there) if one.breaker.allows(now_s))
        found = next(allowing, meant)
        return PushTarget(
            push=found.push, attempt=attempt, tries=self._tries, is_backup=found.is_backup, another=len(there) > 1
        )

    def record_success(self, target: PushTarget, now_s: float) -> bool:
        """Record a successful push; True if it closed the breaker of its endpoint."""
        return self._standing(target).breaker.record_success(now_s)

    def record_failure(self, target: PushTarget, now_s: float) -> None:
        self._standing(target).breaker.record_failure(now_s)

    def mark_gone(self, target: PushTarget) -> None:
        """Mark the endpoint as permanently gone: the receiver returned 410."""
        self._standing(target).is_gone = True

    @property
    def _there(self) -> list[_EndpointHealth]:
        return [one for one in self._all if not one.is_gone] or self._all

    def _standing(self, target: PushTarget) -> _EndpointHealth:
        return next(one for one in self._all if one.is_backup is target.is_backup)
