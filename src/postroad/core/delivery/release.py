"""Store and forward: when what is held back for a service goes on its way, and when it has waited too long.

Kept rule: whichever comes first wins, and a further message never puts a release off. The period counts from the oldest message
that waits, so nobody waits longer than it, and a restart changes nothing: all that counts is what waits, since when, and how
much of it was released before. A time limit counts for each message by itself. Time is an argument.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.model.directory import Release

SECOND_US = 1_000_000
ON_REQUEST = "on request"


class Held(NamedTuple):
    """What waits in a mailbox and was not released before: how many, since when, and up to which number."""

    waiting: int = 0
    oldest_at_us: int = 0
    newest: int = 0


NOTHING_HELD = Held()


class Due(NamedTuple):
    """When everything that is held goes, and why then."""

    at_us: int
    reason: str


def next_release(release: Release, held: Held, now_us: int) -> Due | None:
    """When what is held goes, if nothing more arrives; now when it is full; None: not until more arrive, or somebody asks."""
    if not held.waiting:
        return None
    if 0 < release.when_waiting <= held.waiting:
        return Due(now_us, f"{release.when_waiting} were waiting")
    if release.every_s:
        at_us = held.oldest_at_us + release.every_s * SECOND_US
        return Due(max(at_us, now_us), f"the oldest had waited {release.every_s} s")
    return None


def kept_until_us(keep_s: int, queued_at_us: int) -> int:
    """Until when a message may wait."""
    return queued_at_us + keep_s * SECOND_US


def kept_too_long(keep_s: int) -> str:
    """Why a message has expired, for its sender and its receiver."""
    return f"it waited longer than the {keep_s} s for which its receiver keeps messages"
