"""Answers the memory index's queries about when journeys and deliveries expire."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from postroad.adapters.memory.batches import find_batch_id, is_being_sent
from postroad.core.model.delivery import DeliveryState
from postroad.core.projection.tables import TABLES

if TYPE_CHECKING:
    from postroad.adapters.memory.index import MemoryIndex

Row = tuple[Any, ...]
AT_NUMBER = TABLES["journey"].index("at_number")
EXPIRES_AT_US = TABLES["delivery"].index("expires_at_us")


def _due(index: MemoryIndex, table: str, until_us: int, limit: int) -> list[Row]:
    place = TABLES[table].index("expires_at_us")
    due = [row for row in _expiring(index, table) if row[place] <= until_us]
    return sorted(due, key=lambda row: (row[place], row[0]))[:limit]


def _expiring(index: MemoryIndex, table: str) -> list[Row]:
    """Rows that will expire, except those being sent in a batch."""
    place, number = TABLES[table].index("expires_at_us"), 0 if table == "delivery" else AT_NUMBER
    found = [row for row in index.all(table, state=DeliveryState.QUEUED) if row[place]]
    return [row for row in found if not is_being_sent(index, row[number])]


def _next_due(index: MemoryIndex) -> list[Row]:
    def first(table: str) -> int | None:
        place = TABLES[table].index("expires_at_us")
        return min((row[place] for row in _expiring(index, table)), default=None)

    return [(first("journey"), first("delivery"))]


def _due_journeys(index: MemoryIndex, until_us: int, limit: int) -> list[Row]:
    due = _due(index, "journey", until_us, limit)
    return [(*row, find_batch_id(index, row[AT_NUMBER])) for row in due]


def _due_deliveries(index: MemoryIndex, until_us: int, limit: int) -> list[Row]:
    due = _due(index, "delivery", until_us, limit)
    return [(row[0], row[EXPIRES_AT_US], find_batch_id(index, row[0])) for row in due]


DUE_ANSWERS: dict[str, Callable[..., Iterable[Row]]] = {
    "due_journeys": _due_journeys,
    "due_deliveries": _due_deliveries,
    "next_due": _next_due,
}
