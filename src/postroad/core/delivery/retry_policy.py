"""Decides what follows a push: the delivery is delivered, retried or failed, or pushes are switched off.

Rule: only a 2xx status is a success, and not even that while an agreed MDN is outstanding. A redirect is a failure,
since following it would let a receiver choose where the network connects to. ``Retry-After`` is respected, up to one
day. 410 means that the address is permanently gone; if there is another endpoint, the push is tried there. A change to
the backup happens at once. The decision is a value; the caller schedules the retry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from postroad.core.delivery.push_endpoints import PushTarget
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.delivery.reasons import add_values, make_reason
from postroad.core.model.directory import Push
from postroad.core.model.reason import Reason

# Seconds between tries; the last value repeats. Nine tries take about 28 hours.
SCHEDULE_S = (0.0, 5.0, 30.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 36_000.0)
JITTER = 0.2  # share, in both directions
MAX_PATIENCE_S = 86_400.0
GONE = 410
RETRYABLE_STATUSES = {408, 409, 425, 429}  # refusals after which a later try may succeed


@dataclass(frozen=True, slots=True, kw_only=True)
class PushDelivered:
    """The receiver has accepted the delivery."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushRetry:
    """The delivery is pushed again, ``delay_s`` from now, at ``at_us``."""

    delay_s: float
    at_us: int
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """All attempts are used up."""

    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchOff:
    """The receiver refuses all pushes at this address; the delivery waits for the service's owner."""

    reason: Reason


PushDecision: TypeAlias = PushDelivered | PushRetry | GiveUp | SwitchOff


def decide_push(answer: PushAnswer, target: PushTarget, jitter: float, now_us: int) -> PushDecision:
    """Return what follows from the response to a push; ``jitter`` is a random number from 0 to 1."""
    if answer.waits_s:
        return _again(answer.waits_s, answer.fault or make_reason("push.no-answer"), now_us)
    if answer.status is not None and 200 <= answer.status < 300:
        return PushDelivered()
    reason = add_values(_reason(answer), backup="yes") if target.is_backup else _reason(answer)
    if answer.final:
        return GiveUp(reason=reason)
    if is_address_gone(answer) and not target.another:
        return SwitchOff(reason=reason)
    if target.attempt >= target.tries:
        return GiveUp(reason=add_values(reason, tries=target.attempt))
    if target.is_last_at_endpoint or (is_address_gone(answer) and not target.is_backup):
        return _again(0.0, reason, now_us)  # the next attempt goes to the other endpoint, at once
    return _again(max(_scheduled_s(target.endpoint_attempt, target.push, jitter), _patience_s(answer)), reason, now_us)


def is_address_gone(answer: PushAnswer) -> bool:
    return answer.status == GONE


def _again(delay_s: float, reason: Reason, now_us: int) -> PushRetry:
    return PushRetry(delay_s=delay_s, at_us=now_us + round(delay_s * 1_000_000), reason=reason)


def _scheduled_s(attempt: int, push: Push, jitter: float) -> float:
    """Return the pause after an attempt, spread so that deliveries that failed together are not retried together."""
    pause_s = float(push.retry_interval_s) or SCHEDULE_S[min(attempt, len(SCHEDULE_S) - 1)]
    return pause_s * (1.0 - JITTER + 2.0 * JITTER * jitter)


def _patience_s(answer: PushAnswer) -> float:
    return min(answer.retry_after_s or 0.0, MAX_PATIENCE_S)


def _reason(answer: PushAnswer) -> Reason:
    """Return why this attempt failed and what the owner of the service can check."""
    status = answer.status
    if status is None:
        return answer.fault or make_reason("push.no-answer")
    if status == GONE:
        return make_reason("push.gone", status=status)
    if 300 <= status < 400:
        return make_reason("push.redirected", status=status)
    if 400 <= status < 500 and status not in RETRYABLE_STATUSES:
        return make_reason("push.refused", status=status)
    return make_reason("push.server-error", status=status)


MAX_AT_ONCE = 8
QUICK_S = 1.0


class ReceiverPace:
    """Limits concurrent pushes to a receiver, and records whether the receiver is fast.

    Rule: a receiver that is new, or has just failed, gets one push at a time; each success doubles the limit. A receiver
    is quick while it responds within a second. Receivers that are slow, or have not responded yet, share slots with each
    other and not with the quick ones.
    """

    __slots__ = ("at_once", "is_quick")

    def __init__(self) -> None:
        self.at_once = 1
        self.is_quick = False

    def record_success(self, took_s: float) -> None:
        self.at_once = min(MAX_AT_ONCE, 2 * self.at_once)
        self.is_quick = took_s < QUICK_S

    def record_failure(self) -> None:
        self.at_once = 1
        self.is_quick = False

    def mark_slow(self) -> None:
        """Record that the receiver did not respond within QUICK_S, and treat it as slow."""
        self.is_quick = False
