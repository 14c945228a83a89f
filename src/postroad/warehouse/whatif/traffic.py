"""One pass over a piece of a journal: every entry that counts becomes a row, its message routed under both directories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from postroad.core.admission.admit import ADDRESSED
from postroad.core.billing.uses import BY_NETWORK
from postroad.core.model.journal import Entry, InvocationReturned, MessagePosted, MessageRefused, decode
from postroad.core.model.snapshot import Directory
from postroad.ports import Record
from postroad.warehouse.bulk.archive import Piece
from postroad.warehouse.bulk.journals import JournalReader, opened, records
from postroad.warehouse.bulk.logged import Logged
from postroad.warehouse.whatif.comparing import as_recorded, as_routed, compare
from postroad.warehouse.whatif.rows import message_row, refused_row, response_row, return_row

COUNTING = (b"message.posted", b"message.refused", b"invocation.returned")


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Messages posted from one moment until before another; 0 is no end."""

    from_us: int = 0
    to_us: int = 0

    def has(self, at_us: int) -> bool:
        return self.from_us <= at_us and (not self.to_us or at_us < self.to_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: both directories, and whether "before" is what really happened or what would happen today."""

    before: Directory
    after: Directory
    window: Window
    as_it_was: bool = False


def rows_of(pieces: Iterable[Piece], question: Question) -> Iterator[dict[str, Any]]:
    for piece in pieces:
        with opened(piece.file) as reader:
            for record in records(reader, piece.start, piece.end, COUNTING):
                row = _row(reader, record, question)
                if row is not None:
                    yield row


def _row(reader: JournalReader, record: Record, question: Question) -> dict[str, Any] | None:
    entry: Entry = decode(record.facts)
    if isinstance(entry, InvocationReturned):
        # It belongs to a post of the window, which is found later; only what came before that cannot.
        return (
            return_row(record.seq, entry) if entry.status is None and entry.at_us >= question.window.from_us else None
        )
    if not isinstance(entry, MessagePosted | MessageRefused) or not question.window.has(entry.at_us):
        return None
    if isinstance(entry, MessageRefused):
        return refused_row(record.seq, entry)
    if entry.form == BY_NETWORK:
        return None
    if entry.type not in ADDRESSED:
        return response_row(record.seq, entry)
    body = reader.body_sync(record.body) if record.body is not None else None
    return compared_row(Logged(record.seq, entry, body), question)


def compared_row(logged: Logged, question: Question) -> dict[str, Any]:
    message = logged.message
    before = as_recorded(logged) if question.as_it_was else as_routed(logged, question.before, message)
    after = as_routed(logged, question.after, message)
    return message_row(logged, compare(logged, before, after), question.before, question.after)
