"""Applies the changes of one batch to delivery rows in memory, before they are written to a database.

Under load a delivery is often queued, handed out and acknowledged within one batch. Folding turns this into one
inserted row with the final state, instead of one that is inserted, changed twice, and moved in and out of the queue's
index.

Rule: the result equals that of the named statements ``hand_out`` and ``settle``. Only deliveries that cannot be in
the index yet are folded: those of entries after its position, at the first service of their copy.
"""

from __future__ import annotations

from typing import Any

from postroad.core.delivery.mailbox import IN_A_BATCH_US
from postroad.core.model.ids import delivery_number
from postroad.core.projection.tables import TABLES, Changes, first_delivery

Row = tuple[Any, ...]

STATE, ATTEMPTS, LEASED_AT_US, AVAILABLE_AT_US, SETTLED_AT_US, REASON, WAITS_FOR_PUSH, LEASE_SEQ, SETTLE_SEQ = map(
    TABLES["delivery"].index,
    (
        "state", "attempts", "leased_at_us", "available_at_us", "settled_at_us", "reason", "waits_for_push", "lease_seq",
        "settle_seq",
    ),
)  # fmt: skip


def hand_out(delivery: list[Any], change: Row) -> int:
    """Apply a hand-out to the row; returns the entry whose lease it replaces, or 0."""
    attempts, leased_at_us, available_at_us, reason, waits_for_push, seq, _ = change
    replaced: int = delivery[LEASE_SEQ]
    if replaced >= seq:
        return 0
    delivery[ATTEMPTS] += attempts
    delivery[LEASED_AT_US], delivery[LEASE_SEQ] = leased_at_us, seq
    if delivery[AVAILABLE_AT_US] != IN_A_BATCH_US:  # where it stays
        delivery[AVAILABLE_AT_US] = available_at_us
        if not delivery[SETTLE_SEQ]:
            delivery[REASON], delivery[WAITS_FOR_PUSH] = reason, waits_for_push
    return replaced


def settle(delivery: list[Any], change: Row) -> None:
    if not delivery[SETTLE_SEQ]:
        delivery[STATE], delivery[SETTLED_AT_US], delivery[REASON], delivery[SETTLE_SEQ], _ = change
        delivery[WAITS_FOR_PUSH] = 0


def fold(changes: Changes, position: int) -> Changes:
    """Return the changes in the form that a database takes.

    ``insert_changed_delivery`` is for each new delivery that is also changed in this batch; ``insert_trail`` is also
    for leases that are replaced within this batch.
    """
    hand_outs, settles = changes.get("hand_out", []), changes.get("settle", [])
    if not (hand_outs or settles):
        return changes
    folding = _Folding(changes.get("insert_delivery", []), position)
    if folding.new:
        hand_outs, settles = folding.hand_out(hand_outs), folding.settle(settles)
    return {
        **changes,
        "insert_delivery": folding.list_unchanged(),
        "insert_changed_delivery": list(folding.changed.values()),
        "insert_trail": changes.get("insert_trail", []) + folding.replaced + _repeated(hand_outs),
        "hand_out": hand_outs,
        "settle": settles,
    }


class _Folding:
    """The new deliveries of a batch, and their changes in it."""

    def __init__(self, inserted: list[Row], position: int) -> None:
        self._inserted = inserted
        first = delivery_number(position + 1, 0)
        self.new = {row[0]: row for row in inserted if row[0] >= first}
        self.changed: dict[int, Any] = {}  # whole rows, as lists
        self.replaced: list[Row] = []

    def hand_out(self, changes: list[Row]) -> list[Row]:
        """Applies hand-outs of deliveries that are new in this batch, and returns the others."""
        others: list[Row] = []
        for change in changes:
            delivery = self._changing(change[6])
            if delivery is None:
                others.append(change)
            elif replaced := hand_out(delivery, change):
                self.replaced.append((change[6], replaced))
        return others

    def settle(self, changes: list[Row]) -> list[Row]:
        """Applies settlements of deliveries that are new in this batch, and returns the others."""
        others: list[Row] = []
        changed = self.changed
        for change in changes:
            delivery = changed.get(change[4]) or self._changing(change[4])
            if delivery is None:
                others.append(change)
            else:
                settle(delivery, change)
        return others

    def list_unchanged(self) -> list[Row]:
        return [row for row in self._inserted if row[0] not in self.changed] if self.changed else self._inserted

    def _changing(self, number: int) -> list[Any] | None:
        delivery: list[Any] | None = self.changed.get(number)
        if delivery is None and (row := self.new.get(number)) is not None:
            delivery = self.changed[number] = first_delivery(row)
        return delivery


def first_hand_outs(hand_outs: list[Row]) -> list[Row]:
    """Each delivery with the first entry of the batch that hands it out, for ``keep_replaced``."""
    first: dict[int, int] = {}
    for change in hand_outs:
        first.setdefault(change[6], change[5])
    return list(first.items())


def _repeated(hand_outs: list[Row]) -> list[Row]:
    """Return the leases, with their delivery, that a later one of the same list replaces."""
    last: dict[int, int] = {}
    repeated: list[Row] = []
    for change in hand_outs:
        seq, number = change[5], change[6]
        if last.get(number, seq) != seq:
            repeated.append((number, last[number]))
        last[number] = seq
    return repeated
