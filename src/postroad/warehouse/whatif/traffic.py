"""One pass over a piece of a journal: every entry that counts becomes a row, its message routed under both directories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from postroad.core.admission.admit import ADDRESSED
from postroad.core.billing.uses import BY_NETWORK
from postroad.core.model.asset import Hosting
from postroad.core.model.journal import Entry, InvocationReturned, MessagePosted, MessageRefused, decode
from postroad.core.model.snapshot import Directory
from postroad.ports import Record
from postroad.services.callables import Routing
from postroad.warehouse.bulk.archive import Piece
from postroad.warehouse.bulk.configuration import Directories
from postroad.warehouse.bulk.journals import JournalReader, opened, records
from postroad.warehouse.bulk.logged import Logged
from postroad.warehouse.whatif.comparing import Verdict, as_recorded, as_routed, compare
from postroad.warehouse.whatif.onward import Playing
from postroad.warehouse.whatif.onward_rows import forward_rows, onward_change_rows
from postroad.warehouse.whatif.port_arrivals import arrival_rows
from postroad.warehouse.whatif.rows import message_row, refused_row, response_row, return_row

Rows = Iterator[dict[str, Any]]

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
    history: Directories | None = None  # by which bindings and models are known as they were
    routings: Mapping[str, Routing] = field(default_factory=dict)  # the operator's, by name
    batch_bytes: int = 0  # of members at most, since an interchange is a message; 0: any

    def at_its_time(self, logged: Logged) -> Directory:
        """The directory whose bindings and models the message is to meet on the side of before."""
        if not self.as_it_was or self.history is None:
            return self.before
        return self.history.at(logged.posted.directory)


def rows_of(pieces: Iterable[Piece], question: Question) -> Rows:
    with closing(Playing(question.routings)) as playing:
        for piece in pieces:
            with opened(piece.file) as reader:
                for record in records(reader, piece.start, piece.end, COUNTING):
                    yield from _rows(reader, record, question, playing)


def _rows(reader: JournalReader, record: Record, question: Question, playing: Playing) -> Rows:
    entry: Entry = decode(record.facts)
    if isinstance(entry, InvocationReturned):
        # It belongs to a post of the window, which is found later; only what came before that cannot.
        if entry.status is None and entry.at_us >= question.window.from_us:
            yield return_row(record.seq, entry)
        return
    if not isinstance(entry, MessagePosted | MessageRefused) or not question.window.has(entry.at_us):
        return
    if isinstance(entry, MessageRefused):
        yield refused_row(record.seq, entry)
    elif entry.form == BY_NETWORK or _is_played_again(entry, question.before):
        return
    elif entry.type not in ADDRESSED or entry.forwarded is not None or entry.assembled is not None:
        yield response_row(record.seq, entry)
    else:
        body = reader.body_sync(record.body) if record.body is not None else None
        yield from compared_rows(Logged(record.seq, entry, body), question, playing)


def _is_played_again(entry: MessagePosted, directory: Directory) -> bool:
    """What exchanges, models and batchers send on is; what splitters send counts as it was."""
    sender = directory.services.get(entry.sender)
    splits = sender is not None and sender.hosted is Hosting.SPLITTER
    return (entry.forwarded is not None or entry.assembled is not None) and not splits


def compared_rows(logged: Logged, question: Question, playing: Playing) -> Rows:
    """The message's own row, and those of what exchanges and models send on of it."""
    message, directory = logged.message, question.at_its_time(logged)
    before = as_recorded(logged) if question.as_it_was else as_routed(logged, question.before, message)
    after = as_routed(logged, question.after, message)
    was = playing.onwards(logged, message, before.copies, directory)
    is_now = playing.onwards(logged, message, after.copies, question.after)
    compared = compare(logged, before, after)
    if not logged.is_whole and (was.looked_into_body or is_now.looked_into_body):
        compared = replace(compared, verdict=Verdict.UNDECIDABLE, changes=())
    row = message_row(logged, compared, question.before, question.after)
    row["arrivals"] = [
        *arrival_rows("before", logged, message, before.copies, was, question.before),
        *arrival_rows("after", logged, message, after.copies, is_now, question.after),
    ]
    if compared.verdict is not Verdict.UNDECIDABLE:
        changes = onward_change_rows(was, is_now, directory, question.after)
        if changes:
            row |= {"verdict": Verdict.CHANGED.value, "changes": [*row["changes"], *changes]}
        yield from forward_rows(logged, was, is_now)
    yield row
