"""What happens to a delivery, done to its row in memory: for the memory index, and for batches in which it begins and ends.

Under load a delivery is often queued, handed out and acknowledged within one batch. Folded, that is one row inserted as it
ended, and not one inserted, changed twice, and moved in and out of the queue's index.

Kept rule: the same outcome as the named statements ``hand_out`` and ``settle``. Only deliveries that the index cannot have
yet are folded: those of entries after its position.
"""

from __future__ import annotations

from typing import Any

from postroad.core.projection.tables import TABLES, Changes

Row = tuple[Any, ...]

STATE, ATTEMPTS, LEASED_AT_US, AVAILABLE_AT_US, SETTLED_AT_US, REASON, LEASE_SEQ, SETTLE_SEQ = map(
    TABLES["delivery"].index,
    ("state", "attempts", "leased_at_us", "available_at_us", "settled_at_us", "reason", "lease_seq", "settle_seq"),
)


def hand_out(delivery: list[Any], change: Row) -> None:
    attempts, leased_at_us, available_at_us, reason, seq, _ = change
    if delivery[LEASE_SEQ] >= seq:
        return
    delivery[ATTEMPTS] += attempts
    delivery[LEASED_AT_US], delivery[AVAILABLE_AT_US], delivery[LEASE_SEQ] = leased_at_us, available_at_us, seq
    if not delivery[SETTLE_SEQ]:
        delivery[REASON] = reason


def settle(delivery: list[Any], change: Row) -> None:
    if not delivery[SETTLE_SEQ]:
        delivery[STATE], delivery[SETTLED_AT_US], delivery[REASON], delivery[SETTLE_SEQ], _ = change


def fold(changes: Changes, position: int) -> Changes:
    """The changes with ``insert_changed_delivery`` for each new delivery that is also changed in this batch."""
    if not changes.get("insert_delivery") or not (changes.get("hand_out") or changes.get("settle")):
        return changes
    new = {row[0]: row for row in changes["insert_delivery"] if row[0] >> 16 > position}
    changed: dict[int, list[Any]] = {}
    rest: Changes = {**changes, "hand_out": [], "settle": []}
    for name, happen in (("hand_out", hand_out), ("settle", settle)):
        for change in changes.get(name, ()):
            number = change[-1]
            if number in new:
                if number not in changed:
                    changed[number] = list(new[number])
                happen(changed[number], change)
            else:
                rest[name].append(change)
    if changed:
        rest["insert_delivery"] = [row for row in changes["insert_delivery"] if row[0] not in changed]
        rest["insert_changed_delivery"] = [tuple(row) for row in changed.values()]
    return rest
