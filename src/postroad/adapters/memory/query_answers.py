"""Answers the memory index's queries about batches, acknowledgments, expiry and search keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from postroad.core.model.batch import BATCH_MOVES, BatchState
from postroad.core.model.delivery import DeliveryState
from postroad.core.projection.tables import TABLES

if TYPE_CHECKING:
    from postroad.adapters.memory.index import MemoryIndex


Row = tuple[Any, ...]

SERVICE = TABLES["batch"].index("service")
STATE = TABLES["batch"].index("state")
OPENED_AT_US = TABLES["batch"].index("opened_at_us")
BATCH = TABLES["batch_member"].index("batch")
FACTS = TABLES["batch_member"].index("facts")
NUMBER, SEQ = (TABLES["control_number"].index(name) for name in ("number", "seq"))


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


def _unsettled_counts(index: MemoryIndex) -> list[Row]:
    opened: dict[str, list[int]] = {}
    for row in index.all("batch"):
        if BATCH_MOVES[BatchState(row[STATE])]:
            opened.setdefault(row[STATE], []).append(row[OPENED_AT_US])
    return [(state, len(times), min(times)) for state, times in sorted(opened.items())]


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
    return sorted(((row[NUMBER], row[SEQ]) for row in index.all("control_number", series=series)), reverse=True)[:1]


BATCH_ANSWERS: dict[str, Callable[..., Iterable[Row]]] = {
    "batch": lambda index, id_: index.all("batch", id=id_),
    "unsettled_batches": _unsettled,
    "gathering_services": _gathering_services,
    "unsettled_batch_counts": _unsettled_counts,
    "batches_at": lambda index, service, before, limit: _newest(index.all("batch", service=service), before, limit),
    "all_batches": lambda index, before, limit: _newest(index.all("batch"), before, limit),
    "batch_of": _batch_of,
    "batch_members": _members,
    "latest_number": _latest_number,
    "control_number": lambda index, series, number: index.all("control_number", series=series, number=number),
    "batch_answers": lambda index, batch: index.all("batch_answer", batch=batch),
}


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


HEADER = TABLES["message"].index("header")


def _found(index: MemoryIndex, key: int, before_seq: int, limit: int) -> Iterator[Row]:
    seqs = sorted([seq for _, seq in index.all("found", key=key) if seq < before_seq], reverse=True)
    for seq in seqs[:limit]:
        yield from ((seq, row[1], row[HEADER]) for row in index.all("message", seq=seq))
        yield from ((seq, row[1], None) for row in index.all("refused", seq=seq))


SEARCH_KEY_ANSWERS: dict[str, Callable[..., Iterable[Row]]] = {"found": _found}
