"""Defines how projected rows are stored in a database, if this differs from the projection.

Rule: nothing is lost; ``named_sql`` has an expression for each of these columns that returns the projected value, or
``headers`` fills it in. The cost of an index is what is written for every message. So services are stored as small
numbers; a transaction only if it differs from the message's session; unselected values only in the header; a delivery
at the first service of its copy without values that its number or its message implies; and keys (unordered hashes)
sorted, span by span.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from postroad.adapters.index.header_columns import IN_HEADER
from postroad.core.projection.tables import STATEMENTS, TABLES, Changes
from postroad.ports import JournalHead

Row = tuple[Any, ...]
NOTHING_APPLIED = JournalHead(0, bytes(32))
DATABASE_TABLES = ("service", "activity", *TABLES)
STORED_MESSAGE = tuple(column for column in TABLES["message"] if column not in IN_HEADER)
DATABASE_STATEMENTS = ("insert_changed_delivery", *STATEMENTS)  # in this order
STORED_DELIVERY = ("number", "recipient", "expires_at_us")  # the first of a copy, while it is new
STORED_CHANGED_DELIVERY = (
    *STORED_DELIVERY, "state", "attempts", "leased_at_us", "available_at_us", "settled_at_us", "reason",
    "waits_for_push", "lease_seq", "settle_seq",
)  # fmt: skip
_RECIPIENT_PLACES = {
    "insert_delivery": 1,
    "insert_onward_delivery": 5,
    "insert_resent_delivery": 5,
    "insert_changed_delivery": 5,
}
_OTHER_KEYS = {
    "seen": ("key", "seq"),
    "found": ("key", "seq"),
    "trail": ("number", "seq"),
    "object": ("kind", "key"),
    "object_version": ("kind", "key", "version"),
    "reference": ("owner", "map", "service", "key_name", "key_value"),
    "relation": (
        "owner",
        "map",
        "service",
        "key_name",
        "key_value",
        "other_service",
        "other_name",
        "other_value",
    ),
    "control_number": ("series", "number"),
}

KEYS: dict[str, tuple[str, ...]] = {table: _OTHER_KEYS.get(table, columns[:1]) for table, columns in TABLES.items()}
ACTIVITY_BITS = 12  # a service is recorded once per span of 4096 entries in which it sent or received a message
SPAN_BITS = 14  # a key is recorded once per span of 16,384 entries; its first use counts


class ServiceNumbers(dict[str, int]):
    """GCIDs and the numbers they are stored by. Asking for an unknown one gives it the next number."""

    def __init__(self, known: Iterable[tuple[Any, ...]] = ()) -> None:
        super().__init__(known)
        self.stored = len(self)
        self._new: list[tuple[int, str]] = []

    def __missing__(self, gcid: str) -> int:
        number = self[gcid] = len(self) + 1
        self._new.append((number, gcid))
        return number

    def take_new(self) -> list[tuple[int, str]]:
        """Return the numbers to store since the last call, and mark them as stored."""
        new, self._new = self._new, []
        self.stored = len(self)
        return new


def to_stored_rows(name: str, rows: list[Row], numbers: ServiceNumbers) -> list[Row]:
    """Return the rows as parameters of the named statement."""
    lay_out = _LAYOUTS.get(name)
    return lay_out(rows, numbers) if lay_out else rows


def list_activity(changes: Changes, numbers: ServiceNumbers) -> list[Row]:
    """In which spans of entries which services sent (part 0) or were sent (part 1) something."""
    active = {(service, 0, span) for service, span in _active(changes.get("insert_message", ()), 3, ACTIVITY_BITS)}
    for name, recipient in _RECIPIENT_PLACES.items():
        active.update(
            (service, 1, span) for service, span in _active(changes.get(name, ()), recipient, ACTIVITY_BITS + 16)
        )
    return sorted((numbers[service], part, span) for service, part, span in active)


def _active(rows: Sequence[Row], place: int, bits: int) -> set[tuple[str, int]]:
    """The services at that place of the rows, with the span of each; a batch is nearly always of one span."""
    if not rows:
        return set()
    first = rows[0][0] >> bits
    if first == rows[-1][0] >> bits:
        return {(service, first) for service in {row[place] for row in rows}}
    return {(row[place], row[0] >> bits) for row in rows}


def _messages(rows: list[Row], numbers: ServiceNumbers) -> list[Row]:
    return [
        (seq, session, None if transaction == session else transaction, numbers[sender], at_us, header,
         body_segment, body_offset, body_length, body_digest)
        for (seq, session, transaction, sender, _, _, _, at_us, _, header,
             body_segment, body_offset, body_length, body_digest) in rows
    ]  # fmt: skip


def _deliveries(rows: list[Row], numbers: ServiceNumbers) -> list[Row]:
    return [(number, numbers[recipient], expires_at_us) for number, recipient, _, _, expires_at_us in rows]


def _changed_deliveries(rows: list[Row], numbers: ServiceNumbers) -> list[Row]:
    return [
        (number, numbers[recipient], expires_at_us, state, attempts, leased_at_us, available_at_us, settled_at_us, reason,
         waits_for_push, lease_seq, settle_seq)
        for (number, _, _, _, _, recipient, _, state, attempts, _, leased_at_us, available_at_us, settled_at_us,
             expires_at_us, reason, waits_for_push, lease_seq, settle_seq, *_) in rows
    ]  # fmt: skip


def _onward_deliveries(rows: list[Row], numbers: ServiceNumbers) -> list[Row]:
    return [(*row[:5], numbers[row[5]], numbers[row[6]], *row[7:]) for row in rows]


def _keys(rows: list[Row], numbers: ServiceNumbers) -> list[Row]:
    # The session is that of the entry's own row. Of two uses in one span the first stays, and sorting leaves it first.
    return sorted([(seq >> SPAN_BITS, key, seq) for key, _, seq in rows])


def _found(rows: list[Row], numbers: ServiceNumbers) -> list[Row]:
    return sorted([(seq >> SPAN_BITS, key, seq) for key, seq in rows])


_LAYOUTS: dict[str, Callable[[list[Row], ServiceNumbers], list[Row]]] = {
    "insert_message": _messages,
    "insert_delivery": _deliveries,
    "insert_changed_delivery": _changed_deliveries,
    "insert_onward_delivery": _onward_deliveries,
    "insert_resent_delivery": _onward_deliveries,
    "insert_seen": _keys,
    "insert_found": _found,
}
