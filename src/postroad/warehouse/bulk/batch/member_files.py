"""Files of the members of finished batches: written batch by batch, and read in the order of the interchange.

Rule: members pass through memory some thousands at a time; only a policy that sorts them needs all members of a
batch, as columns. A batch is found by the file and the offset at which its members begin.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from postroad.core.batching import order_members
from postroad.core.model.batch import BatchMember
from postroad.core.model.batch_policy import BatchPolicy
from postroad.warehouse.bulk.batch.gathering import SORT
from postroad.warehouse.bulk.batch.stored_documents import StoredDocument, create_file
from postroad.warehouse.bulk.operation import COLUMNS
from postroad.warehouse.bulk.read.archive import open_file_system

ROWS = 4_096
SCHEMA = pa.schema(
    [
        *COLUMNS,
        pa.field("bytes", pa.int64()),
        pa.field("kind", pa.string()),
        pa.field("sort", SORT),
        pa.field("aside", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("declared", pa.string()),
    ]
)

Row = dict[str, Any]


class MembersPosition(NamedTuple):
    """The position of a batch's members; an empty batch has none."""

    file: str = ""
    offset: int = 0


class MembersWriter:
    """Writes one task's file of members, created with the first."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._sink: Any = None
        self._writer: Any = None
        self._rows: list[Row] = []
        self._at = MembersPosition()

    def add(self, row: Row) -> None:
        if self._writer is None:
            self._sink = self._sink or create_file(self._file)
            self._at = MembersPosition(self._file, self._sink.tell())
            self._writer = pa.ipc.new_stream(self._sink, SCHEMA)
        self._rows.append(row)
        if len(self._rows) >= ROWS:
            self._flush()

    def finish(self) -> MembersPosition:
        """End the batch; returns the position of its members."""
        self._flush()
        if self._writer is not None:
            self._writer.close()
        self._writer, at = None, self._at
        return at

    def close(self) -> None:
        if self._sink is not None:
            self._sink.close()

    def _flush(self) -> None:
        if self._rows:
            arrays = [pa.array([row[field.name] for row in self._rows], field.type) for field in SCHEMA]
            self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=SCHEMA))
            self._rows = []


class BatchMembers:
    """The members of one batch, which can be iterated repeatedly."""

    def __init__(self, at: MembersPosition, policy: BatchPolicy) -> None:
        self._at = at
        self._places = self._sorted(policy) if policy.sort_by and at.file else None

    def __iter__(self) -> Iterator[Row]:
        if self._places is None:
            yield from (row for batch in self._batches() for row in batch.to_pylist())
            return
        whole = pa.Table.from_batches(list(self._batches()), SCHEMA)
        for begin in range(0, len(self._places), ROWS):
            yield from whole.take(pa.array(self._places[begin : begin + ROWS])).to_pylist()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if not self._at.file:
            return
        system, path = open_file_system(self._at.file)
        with system.open_input_file(path) as file:
            file.seek(self._at.offset)
            yield from pa.ipc.open_stream(file)

    def _sorted(self, policy: BatchPolicy) -> list[int]:
        """The places of the members in the order of their interchange."""
        values = (one for batch in self._batches() for one in batch.column("sort").to_pylist())
        members = [
            BatchMember(number=place, bytes=0, sort=tuple([(each["place"], each["text"]) for each in sort]))
            for place, sort in enumerate(values)
        ]
        return [member.number for member in order_members(policy, members)]


def document_of(row: Row) -> StoredDocument:
    return StoredDocument(row["aside"], row["offset"], row["bytes"])
