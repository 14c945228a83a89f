"""Answers the memory index's queries about batches, members, control numbers and functional acknowledgments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from postroad.core.model.batch import BATCH_MOVES, BatchState
from postroad.core.projection.tables import TABLES

if TYPE_CHECKING:
    from postroad.adapters.memory.index import MemoryIndex

Row = tuple[Any, ...]

SERVICE = TABLES["batch"].index("service")
STATE = TABLES["batch"].index("state")
BATCH = TABLES["batch_member"].index("batch")
FACTS = TABLES["batch_member"].index("facts")
NUMBER = TABLES["control_number"].index("number")


def find_batch_id(index: MemoryIndex, number: int) -> str:
    """Id of the batch that a delivery has joined, if any."""
    return next((row[BATCH] for row in index.all("batch_member", number=number)), "")


def is_being_sent(index: MemoryIndex, number: int) -> bool:
    return any(row[STATE] == BatchState.ASSEMBLED for row in _batch_of(index, number))


def _newest(rows: list[Row], before_id: str, limit: int) -> list[Row]:
    return [row for row in reversed(rows) if row[0] < before_id][:limit]


def _unsettled(index: MemoryIndex, service: str) -> list[Row]:
    return [row for row in index.all("batch", service=service) if BATCH_MOVES[BatchState(row[STATE])]]


def _gathering_services(index: MemoryIndex) -> list[Row]:
    return sorted({(row[SERVICE],) for row in index.all("batch") if BATCH_MOVES[BatchState(row[STATE])]})


def _batch_of(index: MemoryIndex, number: int) -> Iterator[Row]:
    for member in index.all("batch_member", number=number):
        yield from index.all("batch", id=member[BATCH])


def _members(index: MemoryIndex, batch: str, after_number: int, limit: int) -> Iterator[Row]:
    known = [row for row in index.all("batch_member", batch=batch) if row[0] > after_number]
    found = (
        (row[FACTS], *delivery) for row in known for delivery in index.waiting(index.all("delivery", number=row[0]))
    )
    return (row for row, _ in zip(found, range(limit), strict=False))


def _latest_number(index: MemoryIndex, series: str) -> list[Row]:
    return [(max((row[NUMBER] for row in index.all("control_number", series=series)), default=None),)]


BATCH_ANSWERS: dict[str, Callable[..., Iterable[Row]]] = {
    "batch": lambda index, id_: index.all("batch", id=id_),
    "unsettled_batches": _unsettled,
    "gathering_services": _gathering_services,
    "batches_at": lambda index, service, before, limit: _newest(index.all("batch", service=service), before, limit),
    "all_batches": lambda index, before, limit: _newest(index.all("batch"), before, limit),
    "batch_of": _batch_of,
    "batch_members": _members,
    "latest_number": _latest_number,
    "control_number": lambda index, series, number: index.all("control_number", series=series, number=number),
    "batch_answers": lambda index, batch: index.all("batch_answer", batch=batch),
}
