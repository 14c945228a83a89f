"""Converts batch events to rows: the batches themselves, their members, and partners' acknowledgments.

Rule: every entry that changes a batch gives a row with its complete new state; so the row with the highest ``seq`` is
current, and rows of other kinds need not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from postroad.core.model.batch import Batch
from postroad.core.model.interchange import AssembledInterchange, DrawnNumber
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesEnded,
    Entry,
    InterchangeAnswered,
    MessagePosted,
)
from postroad.warehouse.landing.message_events import Row, Rows

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


class LandedBatch(NamedTuple):
    """A batch in its new state, with what changed it; an assembled one has the entry of its interchange."""

    by: str
    batch: Batch
    move: str
    session: str = ""
    assembled: AssembledInterchange | None = None


_BATCH: dict[str, Callable[[LandedBatch], Any]] = {
    "by": lambda of: of.by,
    "service": lambda of: of.batch.service or None,
    "session": lambda of: of.session or None,
    "reason": lambda of: of.batch.why or None,
    "batch": lambda of: of.batch.id,
    "batch_move": lambda of: of.move,
    "batch_state": lambda of: of.batch.state.value,
    "batch_version": lambda of: of.batch.version,
    "batch_key": lambda of: "/".join(of.batch.key) or None,
    "document_type": lambda of: of.batch.kind or None,
    "opened_at_us": lambda of: of.batch.opened_at_us,
    "closed_at_us": lambda of: of.batch.closed_at_us or None,
    "closed_by": lambda of: of.batch.closed_by and of.batch.closed_by.value,
    "members": lambda of: of.batch.count,
    "batch_bytes": lambda of: of.batch.bytes,
    "interchange": lambda of: of.batch.interchange or None,
    "standard": lambda of: of.assembled and of.assembled.standard,
    "control_numbers": lambda of: of.assembled and (_ranges(of.assembled.numbers) or None),
}

BATCH_COLUMNS = (*COMMON, *_BATCH)


def batch_rows(seq: int, entry: Entry, first_ordinal: int) -> list[Row]:
    """Return the batches that the entry changes, in their new state; ordinals follow those of its other rows."""
    changes = _CHANGES.get(type(entry))
    found = changes(entry) if changes is not None else ()
    if not found:  # as of nearly all entries
        return []
    return [
        (seq, ordinal, "batch", entry.at_us, *[value(change) for value in _BATCH.values()])
        for ordinal, change in enumerate(found, first_ordinal)
    ]


def _changed(entry: BatchesChanged) -> Sequence[LandedBatch]:
    return [LandedBatch(entry.by, batch, entry.what) for batch in entry.batches]


def _assembled(entry: MessagePosted) -> Sequence[LandedBatch]:
    made = entry.assembled
    if made is None or made.batch is None:
        return ()
    return (LandedBatch(entry.sender, made.batch, "assembled", entry.session, made),)


def _ranges(drawn: Iterable[DrawnNumber]) -> list[str]:
    """Return the numbers of each series as one range; an interchange draws them consecutively, one per document."""
    found: dict[str, list[int]] = {}
    for one in drawn:
        found.setdefault(one.series, []).append(one.number)
    return [
        f"{series}:{min(numbers)}" + (f"-{max(numbers)}" if len(numbers) > 1 else "")
        for series, numbers in found.items()
    ]


def _acknowledged(entry: DeliveriesAcknowledged) -> Sequence[LandedBatch]:
    return () if entry.batch is None else (LandedBatch(entry.by, entry.batch, "sent"),)


def _ended(entry: DeliveriesEnded) -> Sequence[LandedBatch]:
    if entry.batch is None:
        return ()
    return (LandedBatch(entry.by, entry.batch, "dropped" if entry.batch.state.value == "dropped" else "left"),)


_CHANGES: dict[type, Callable[[Any], Sequence[LandedBatch]]] = {
    BatchesChanged: _changed,
    MessagePosted: _assembled,
    DeliveriesAcknowledged: _acknowledged,
    DeliveriesEnded: _ended,
}
