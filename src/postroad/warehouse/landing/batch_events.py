"""Batch events as rows: the batches themselves, their members, and partners' acknowledgments.

Rule: every entry that changes a batch gives a row with its complete new state; so the row with the highest ``seq`` is
current, and rows of other kinds need not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from postroad.core.model.batch import Batch
from postroad.core.model.interchange import DrawnNumber
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    Entry,
    InterchangeAnswered,
    MessagePosted,
)

Row = tuple[Any, ...]
Rows = Iterator[Row]
COMMON = ("seq", "ordinal", "about", "at_us")

JOINED_COLUMNS = (*COMMON, "by", "service", "delivery", "size", "batch", "batch_move", "document_type")


def joined_rows(seq: int, entry: BatchesChanged, _: int) -> Rows:
    """Return rows for the messages that joined; ``batch_rows`` covers the batches themselves."""
    if not entry.joined and not entry.batches:
        yield (seq, 0, "batch", entry.at_us, entry.by, entry.service, None, None, None, entry.what, None)
    for ordinal, member in enumerate(entry.joined):
        about = (seq, ordinal, "delivery", entry.at_us, entry.by, entry.service, member.number, member.bytes)
        yield (*about, entry.batch or None, entry.what, member.kind or None)


ANSWERED_COLUMNS = (*COMMON, "by", "service", "session", "delivery", "detail", "batch", "standard", "verdict")


def answered_rows(seq: int, entry: InterchangeAnswered, _: int) -> Rows:
    """Return a row for the whole interchange, then rows for members with another status."""
    told = (seq, 0, "answer", entry.at_us, entry.by, entry.by, entry.session, None, entry.detail or None)
    yield (*told, entry.batch or None, entry.standard or None, entry.verdict)
    for ordinal, member in enumerate(entry.members, 1):
        about = (seq, ordinal, "answer", entry.at_us, entry.by, entry.by, entry.session, member.delivery)
        reasons = "; ".join(member.reasons) or None
        yield (*about, reasons, entry.batch or None, entry.standard or None, member.verdict)


BATCH_COLUMNS = (
    *(
        *COMMON,
        "by",
        "service",
        "session",
        "reason",
        "batch",
        "batch_move",
        "batch_state",
        "batch_version",
        "batch_key",
    ),
    *("document_type", "opened_at_us", "closed_at_us", "closed_by", "members", "batch_bytes", "interchange"),
    *("standard", "control_numbers"),
)


def batch_rows(seq: int, entry: Entry, first_ordinal: int) -> list[Row]:
    """Return the batches that the entry changes, in their new state; ordinals follow those of its other rows."""
    tell = _TOLD.get(type(entry))
    found = tell(entry) if tell is not None else ()
    if not found:  # as of nearly all entries
        return []
    return [
        (*(seq, ordinal, "batch", entry.at_us), *row) for ordinal, row in enumerate(found, first_ordinal)
    ]  # fmt: skip


def _changed(entry: BatchesChanged) -> Sequence[Row]:
    return [_row(entry.by, batch, entry.what) for batch in entry.batches]


def _assembled(entry: MessagePosted) -> Sequence[Row]:
    made = entry.assembled
    if made is None or made.batch is None:
        return ()
    numbers = _ranges(made.numbers) or None
    return (_row(entry.sender, made.batch, "assembled", entry.session, (made.standard, numbers)),)


def _ranges(drawn: Iterable[DrawnNumber]) -> list[str]:
    """A large interchange may use as many as it has documents; they are drawn one after the other."""
    found: dict[str, list[int]] = {}
    for one in drawn:
        found.setdefault(one.series, []).append(one.number)
    return [
        f"{series}:{min(numbers)}" + (f"-{max(numbers)}" if len(numbers) > 1 else "")
        for series, numbers in found.items()
    ]


def _acknowledged(entry: DeliveriesAcknowledged) -> Sequence[Row]:
    return () if entry.batch is None else (_row(entry.by, entry.batch, "sent"),)


def _ended(entry: DeliveriesEnded) -> Sequence[Row]:
    if entry.batch is None:
        return ()
    return (_row(entry.by, entry.batch, "dropped" if entry.batch.state.value == "dropped" else "left"),)


def _row(by: str, batch: Batch, move: str, session: str = "", made: Row = (None, None)) -> Row:
    return (
        *(by, batch.service or None, session or None, batch.why or None, batch.id, move, batch.state.value),
        *(batch.version, "/".join(batch.key) or None, batch.kind or None, batch.opened_at_us),
        *(batch.closed_at_us or None, batch.closed_by.value if batch.closed_by is not None else None),
        *(batch.count, batch.bytes, batch.interchange or None, *made),
    )


_TOLD: dict[type, Callable[[Any], Sequence[Row]]] = {
    BatchesChanged: _changed,
    MessagePosted: _assembled,
    DeliveriesAcknowledged: _acknowledged,
    DeliveriesEnded: _ended,
}
