"""One pass over a piece of a journal: each relevant entry becomes a row, routed under both directories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

from postroad.core.admission.admit import ADDRESSED
from postroad.core.model.asset import Hosting
from postroad.core.model.journal import BY_NETWORK, Entry, InvocationReturned, MessagePosted, MessageRefused, decode
from postroad.core.model.snapshot import Directory
from postroad.ports import JournalRecord
from postroad.services.exchange.callables import Routing
from postroad.warehouse.bulk.read.archive import ArchivePiece
from postroad.warehouse.bulk.read.directories import DirectoryVersions
from postroad.warehouse.bulk.read.journals import JournalReader, open_journal, read_records
from postroad.warehouse.bulk.read.logged_posts import LoggedPost
from postroad.warehouse.whatif.comparison import RouteVerdict, compare_routes, recorded_side, routed_side
from postroad.warehouse.whatif.forwards import ForwardReplay
from postroad.warehouse.whatif.port_arrivals import arrival_rows
from postroad.warehouse.whatif.rows import (
    forward_change_rows,
    forward_rows,
    message_row,
    refused_row,
    response_row,
    return_row,
)

Rows = Iterator[dict[str, Any]]

COUNTING = (b"message.posted", b"message.refused", b"invocation.returned")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeWindow:
    """A time range of posts, from ``from_us`` to before ``to_us``; a ``to_us`` of 0 means no end."""

    from_us: int = 0
    to_us: int = 0

    def has(self, at_us: int) -> bool:
        return self.from_us <= at_us and (not self.to_us or at_us < self.to_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfQuestion:
    """The parameters of a run: both directories, and whether "before" is the recorded or the replayed state."""

    before: Directory
    after: Directory
    window: TimeWindow
    as_it_was: bool = False
    history: DirectoryVersions | None = None  # bindings and models as they were at each time
    routings: Mapping[str, Routing] = field(default_factory=dict)  # the operator's, by name
    batch_bytes: int = 0  # limit for all members, because an interchange is a message; 0: no limit

    def at_its_time(self, logged: LoggedPost) -> Directory:
        """Return the directory for the "before" side of this message's bindings and models."""
        if not self.as_it_was or self.history is None:
            return self.before
        return self.history.at(logged.posted.directory)


def replay_pieces(pieces: Iterable[ArchivePiece], question: WhatIfQuestion) -> Rows:
    with closing(ForwardReplay(question.routings)) as playing:
        for piece in pieces:
            with open_journal(piece.file) as reader:
                for record in read_records(reader, piece.start, piece.end, COUNTING):
                    yield from _rows(reader, record, question, playing)


def _rows(reader: JournalReader, record: JournalRecord, question: WhatIfQuestion, playing: ForwardReplay) -> Rows:
    entry: Entry = decode(record.facts)
    if isinstance(entry, InvocationReturned):
        # Returns are matched to their posts later; one before the window cannot belong to a post in it.
        if entry.status is None and entry.at_us >= question.window.from_us:
            yield return_row(record.seq, entry)
        return
    if not isinstance(entry, MessagePosted | MessageRefused) or not question.window.has(entry.at_us):
        return
    if isinstance(entry, MessageRefused):
        yield refused_row(record.seq, entry)
    elif entry.form == BY_NETWORK or _is_replayed(entry, question.before):
        return
    elif entry.type not in ADDRESSED or entry.forwarded is not None or entry.assembled is not None:
        yield response_row(record.seq, entry)
    else:
        body = reader.body_sync(record.body) if record.body is not None else None
        yield from compare_post(LoggedPost(record.seq, entry, body), question, playing)


def _is_replayed(entry: MessagePosted, directory: Directory) -> bool:
    """Return True if the entry is replayed: forwards are; what splitters send counts as recorded."""
    sender = directory.services.get(entry.sender)
    splits = sender is not None and sender.hosted is Hosting.SPLITTER
    return (entry.forwarded is not None or entry.assembled is not None) and not splits


def compare_post(logged: LoggedPost, question: WhatIfQuestion, playing: ForwardReplay) -> Rows:
    """Yield the message's own row, and those of the copies that exchanges and models forward."""
    message, directory = logged.message, question.at_its_time(logged)
    before = recorded_side(logged) if question.as_it_was else routed_side(logged, question.before, message)
    after = routed_side(logged, question.after, message)
    was = playing.onwards(logged, message, before.copies, directory)
    is_now = playing.onwards(logged, message, after.copies, question.after)
    compared = compare_routes(logged, before, after)
    if not logged.is_whole and (was.looked_into_body or is_now.looked_into_body):
        compared = replace(compared, verdict=RouteVerdict.UNDECIDABLE, changes=())
    row = message_row(logged, compared, question.before, question.after)
    row["arrivals"] = [
        *arrival_rows("before", logged, message, before.copies, was, question.before),
        *arrival_rows("after", logged, message, after.copies, is_now, question.after),
    ]
    if compared.verdict is not RouteVerdict.UNDECIDABLE:
        changes = forward_change_rows(was, is_now, directory, question.after)
        if changes:
            row |= {"verdict": RouteVerdict.CHANGED.value, "changes": [*row["changes"], *changes]}
        yield from forward_rows(logged, was, is_now)
    yield row
