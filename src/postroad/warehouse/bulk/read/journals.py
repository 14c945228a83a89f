"""Journals to read, with their bodies, in driver and workers: segment files in a folder, or a PostgreSQL table.

Rules: journals are only read, and by name: a folder, or the address of a database. An address may contain a password,
so it is never displayed; ``shown`` is the displayable form.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.postgres_connections import ConnectionPool
from postroad.adapters.journal.segments import RealFiles, SegmentReader
from postroad.adapters.journal.segments.catalog import list_segments
from postroad.ports import BodyAt, JournalBatch, JournalRecord

JOURNAL_FOLDER = "journal"
READ_BYTES = 4 << 20
KIND_WITHIN = 32  # bytes at the beginning of an entry in which its kind stands
POSTGRES = ("postgresql://", "postgres://")


class JournalReader(Protocol):
    """The methods that bulk jobs use of a journal; ``SegmentReader`` implements them."""

    def read_sync(self, after_seq: int, limit_bytes: int = READ_BYTES) -> JournalBatch: ...
    def body_sync(self, at: BodyAt) -> bytes | None: ...
    def durable_seq(self) -> int: ...
    def close(self) -> None: ...


class PostgresReader:
    """Reads a PostgreSQL journal synchronously; needs only the right to SELECT.

    Bodies are asked for in the order of entries, so a question brings those that will be asked for next as well.
    """

    def __init__(self, address: str) -> None:
        self._runner = asyncio.Runner()
        self._connections = self._runner.run(ConnectionPool.open(address, most=1, durable=False))
        self._journal = PostgresJournal(self._connections)
        self._coming: deque[BodyAt] = deque()
        self._bodies: dict[BodyAt, bytes | None] = {}

    def read_sync(self, after_seq: int, limit_bytes: int = READ_BYTES) -> JournalBatch:
        batch = self._runner.run(self._journal.read(after_seq, limit_bytes))
        self._coming = deque(record.body for record in batch.records if record.body is not None)
        return batch

    def body_sync(self, at: BodyAt) -> bytes | None:
        if at not in self._bodies:
            places = self._next_places(at)
            self._bodies = dict(zip(places, self._runner.run(self._journal.bodies(places)), strict=True))
        return self._bodies[at]

    def _next_places(self, at: BodyAt) -> list[BodyAt]:
        """This body and those behind it, as many as fit into one answer."""
        while self._coming and self._coming[0] != at:
            self._coming.popleft()
        places, size = [at], at.length
        for place in islice(self._coming, 1, None):
            size += place.length
            if size > READ_BYTES:
                break
            places.append(place)
        return places

    def durable_seq(self) -> int:
        return self._runner.run(self._journal.head()).seq

    def close(self) -> None:
        self._runner.run(self._connections.close())
        self._runner.close()


@contextmanager
def open_journal(name: str) -> Iterator[JournalReader]:
    reader: JournalReader = PostgresReader(name) if is_database(name) else SegmentReader(Path(name))
    try:
        yield reader
    finally:
        reader.close()


def is_database(name: str) -> bool:
    return name.startswith(POSTGRES)


def masked_name(name: str) -> str:
    """Return a journal's name without its credentials."""
    if not is_database(name):
        return name
    parts = urlsplit(name)
    return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


def find_journal_source(name: str) -> str | None:
    """Return the journal of a folder, a data folder or a database address; None if there is none."""
    if is_database(name):
        return name
    for folder in (Path(name), Path(name) / JOURNAL_FOLDER):
        if folder.is_dir() and list_segments(RealFiles().names(folder)):
            return str(folder.absolute())
    return None


def entry_spans(name: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of at most so many entries: after one number and until another.

    None reaches over a segment's end, so that its reader opens one file.
    """
    with open_journal(name) as reader:
        last = reader.durable_seq()
    files = [] if is_database(name) else list_segments(RealFiles().names(Path(name)))
    begins = [segment.first_seq for segment in files] or [1]
    for begin, following in zip(begins, [*begins[1:], last + 1], strict=True):
        for start in range(begin - 1, following - 1, most):
            yield start, min(start + most, following - 1)


def read_records(reader: JournalReader, after: int, until: int, kinds: tuple[bytes, ...]) -> Iterator[JournalRecord]:
    """Yield the entries of these kinds in a range; other kinds are not decoded."""
    while after < until:
        batch = reader.read_sync(after, READ_BYTES)
        for record in batch.records:
            if record.seq > until:
                return
            begin = record.facts[:KIND_WITHIN]
            if any(kind in begin for kind in kinds):
                yield record
        after = max(batch.head.seq, after + 1)
