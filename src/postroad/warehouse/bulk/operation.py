"""The interface of bulk operations: one kind of work on archived messages, and the rows that result.

An operation has a name, its own columns, and ``prepare``, which prepares what the directory requires and returns a
function of one message. Rules: all expensive work is done in ``prepare``, once for each directory and process. Every
error of a message, including programming errors, becomes a row with a code, so that one message never stops a job
over millions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.warehouse.bulk.read.archive import ArchivedMessage, UnreadableMessage

BATCH_ROWS = 4_096
BATCH_BYTES = 16 << 20  # of what rows carry along

COLUMNS = (
    pa.field("file", pa.string(), nullable=False),
    pa.field("position", pa.int64(), nullable=False),
    pa.field("session", pa.string(), nullable=False),
    pa.field("at_us", pa.int64(), nullable=False),
    pa.field("sender", pa.string(), nullable=False),
    pa.field("type", pa.string(), nullable=False),
    pa.field("topic", pa.string(), nullable=False),
    pa.field("handle", pa.string(), nullable=False),
    pa.field("size", pa.int64(), nullable=False),
    pa.field("code", pa.string(), nullable=False),  # empty: it was handled
    pa.field("detail", pa.string(), nullable=False),
)
OWN = len(COLUMNS)  # the operation's columns follow


class ResultRow(NamedTuple):
    """One result row of a message: an error, or the values of the operation's own columns in their order."""

    values: tuple[Any, ...]
    code: str = ""
    detail: str = ""


Work = Callable[[ArchivedMessage], Sequence[ResultRow]]


@runtime_checkable
class ClosableWork(Protocol):
    """Work that holds resources and must be closed after its last message."""

    def end(self) -> None: ...


class BulkOperation(Protocol):
    """A bulk operation: its name, its columns, and its preparation."""

    @property
    def name(self) -> str: ...

    @property
    def columns(self) -> Sequence[pa.Field]:
        """Return the columns beside ``COLUMNS``; all are nullable, and null for a message with an error."""
        ...

    def prepare(self, directory: Directory) -> Work:
        """Return the work on one message under this directory; a Refused becomes the message's row."""
        ...


@contextmanager
def prepare_operation(operation: BulkOperation, directory: Directory) -> Iterator[Work]:
    work = operation.prepare(directory)
    started: object = work
    try:
        yield work
    finally:
        if isinstance(started, ClosableWork):
            started.end()


def schema_of(operation: BulkOperation) -> pa.Schema:
    return pa.schema([*COLUMNS, *operation.columns])


def divide_into_batches(
    rows: Iterable[dict[str, Any]], schema: pa.Schema, batch_rows: int = BATCH_ROWS
) -> Iterator[pa.RecordBatch]:
    """Yield rows in batches; a column that a row does not have is null."""
    remaining = iter(rows)
    while batch := list(islice(remaining, batch_rows)):
        arrays = [pa.array([row.get(field.name) for row in batch], field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def handle_messages(
    items: Iterable[ArchivedMessage | UnreadableMessage], operation: BulkOperation, work: Work
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of these messages, in batches; no exception of a single message escapes."""
    schema = schema_of(operation)
    nothing = (None,) * len(operation.columns)
    rows: list[tuple[Any, ...]] = []
    carried = 0
    for item in items:
        more = _rows(item, work, nothing)
        rows += more
        carried += sum(len(value) for row in more for value in row[OWN:] if type(value) is bytes)
        if len(rows) >= BATCH_ROWS or carried >= BATCH_BYTES:
            yield _batch(rows, schema)
            rows, carried = [], 0
    if rows:
        yield _batch(rows, schema)


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _rows(item: ArchivedMessage | UnreadableMessage, work: Work, nothing: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    place = item.place
    if isinstance(item, UnreadableMessage):
        unknown = ("", 0, "", "", "", "", item.size)
        return [(place.file, place.position, *unknown, item.code, item.detail, *nothing)]
    message = item.message
    known = (
        place.file, place.position, item.session, item.at_us, item.sender, message.type.value, message.topic,
        message.handle, sum([len(part.data) for part in message.parts]),
    )  # fmt: skip
    return [(*known, done.code, done.detail, *(done.values or nothing)) for done in _handle_message(item, work)]


def _handle_message(item: ArchivedMessage, work: Work) -> Sequence[ResultRow]:
    try:
        return work(item)
    except Refused as refusal:
        return [ResultRow((), refusal.code, refusal.detail)]
    except Exception as mistake:  # a job over millions goes on, and the row says where to look
        return [ResultRow((), "internal", f"{type(mistake).__name__}: {mistake}"[:500])]
