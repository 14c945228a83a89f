"""The next step of a rotation of the token keys, as a pure decision.

A new key is *announced*: stored, and accepted. When all nodes have read it, it *signs*: deliveries of later journal entries get
their tokens from it. For a moment a node may not know this and use the key before; so both are accepted for a
while, until the rotation is *settled*. The old key is *retired* when none of its deliveries is open, and a while later, so
that a receiver may repeat an acknowledgment.

Rule: each step is stored before the next one is decided, so a rotation continues after a crash of any node.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from postroad.core.model.stored_secrets import StoredTokenKey


class RingStepKind(StrEnum):
    SIGN = "sign"
    SETTLE = "settle"
    RETIRE = "retire"


class RingStep(NamedTuple):
    """A step, and the key as it is afterwards (for ``retire``: the key that is removed)."""

    kind: RingStepKind
    key: StoredTokenKey


class RingSituation(NamedTuple):
    """What a step depends on besides the keys."""

    now_us: int
    head_seq: int  # the journal's last entry
    oldest_open_seq: int | None  # the oldest entry with an open delivery; None: no delivery is open
    spread_us: int  # until every node has read a change
    keep_us: int  # for which an old key is kept at least


def is_in_progress(keys: Sequence[StoredTokenKey]) -> bool:
    """Whether a new key does not sign yet, or tokens of both keys are still accepted."""
    return any(key.from_seq is None or key.overlap_to_seq is None for key in keys)


def next_step(keys: Sequence[StoredTokenKey], now: RingSituation) -> RingStep | None:
    """Return the step that is due, or None; ``keys`` are sorted by age."""
    for key in keys:
        if key.from_seq is None:
            if now.now_us - key.added_at_us < now.spread_us:
                return None
            signing = key._replace(from_seq=now.head_seq + 1, signs_at_us=now.now_us)
            return RingStep(RingStepKind.SIGN, signing)
        if key.overlap_to_seq is None:
            if now.now_us - (key.signs_at_us or 0) < now.spread_us:
                return None
            return RingStep(RingStepKind.SETTLE, key._replace(overlap_to_seq=now.head_seq))
    return _retirement(keys, now)


def _retirement(keys: Sequence[StoredTokenKey], now: RingSituation) -> RingStep | None:
    """Return the removal of the oldest key if all of its deliveries have ended."""
    if len(keys) < 2:
        return None
    oldest, successor = keys[:2]
    if now.now_us - (successor.signs_at_us or 0) < now.keep_us:
        return None
    needed_to = max(successor.from_seq or 0, (successor.overlap_to_seq or 0) + 1)
    if now.oldest_open_seq is not None and now.oldest_open_seq < needed_to:
        return None
    return RingStep(RingStepKind.RETIRE, oldest)


def rewind(keys: Sequence[StoredTokenKey], cut: int, now_us: int) -> list[StoredTokenKey]:
    """Return the keys as they must be when the journal is restored and ``cut`` is its last entry again.

    Deliveries up to the cut keep their keys. All later ones get their tokens from the newest key that has signed, at once: the
    rotation was made for a reason, and the entry numbers in the ring are of entries that do not exist any more. Keys between
    the two have no deliveries, and are removed.
    """
    later = [key for key in keys if key.from_seq is not None and key.from_seq > cut]
    kept = [_end_overlap(key, cut) for key in keys if key not in later]
    if not later:
        return kept
    newest = later[-1]._replace(from_seq=cut + 1, signs_at_us=now_us, overlap_to_seq=cut)
    return sorted([*kept, newest], key=lambda key: (key.added_at_us, key.id))


def _end_overlap(key: StoredTokenKey, cut: int) -> StoredTokenKey:
    """End an overlap at the cut if it ended later; one that has no end yet is settled by the running network."""
    if key.overlap_to_seq is None:
        return key
    return key._replace(overlap_to_seq=min(key.overlap_to_seq, cut))
