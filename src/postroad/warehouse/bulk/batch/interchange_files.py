"""Writes a finished batch as one interchange: counts control numbers first, then writes it as a stream.

Rules: control numbers are drawn in the order in which batches were closed, so the numbers of each batch are counted
before any is written. A member that does not fit fails alone, and its batch continues without it, as in the server.
Only one document is in memory at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import msgspec
import pyarrow as pa

from postroad.core.batching.interchange_contents import envelope_of
from postroad.core.interchange.assembly_errors import find_unfit_member
from postroad.core.interchange.model import DescribedDocument, Envelope, Placed, PlacedCallback
from postroad.core.interchange.standard import Standard
from postroad.core.model.batch import Batch
from postroad.core.model.batch_policy import Batching
from postroad.errors import Refused
from postroad.warehouse.bulk.batch.member_files import BatchMembers, Row, document_of
from postroad.warehouse.bulk.batch.stored_documents import DocumentReader, create_file
from postroad.warehouse.bulk.read.archive import open_file_system

WRITE_BYTES = 1 << 20
PLACED_ROWS = 4_096
PLACED = pa.schema(
    [
        pa.field("position", pa.int64()),
        pa.field("interchange", pa.string()),
        pa.field("group", pa.string()),
        pa.field("document_type", pa.string()),
        pa.field("reference", pa.string()),
    ]
)
_options_in = msgspec.json.Decoder(dict[str, str]).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class InterchangeCount:
    """The control numbers that an interchange will use, and the members that will not be in it."""

    numbers: Mapping[str, int]  # how many of each scope
    unfit: Mapping[int, str] = field(default_factory=dict)  # places of members, and what is wrong with them
    fault: str = ""  # that is none of a member's: nothing can be written


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenInterchange:
    size: int
    sha256: str
    placed: PlacedRows
    numbers: Mapping[str, tuple[int, int]]  # the first and the last that it uses, by scope


class InterchangeFiles:
    """Writes the interchanges of one send port in one task."""

    def __init__(self, batching: Batching, standard: Standard) -> None:
        if "assemble" not in standard.abilities:
            raise Refused("interchange.unfit", f"interchanges of {standard.title} cannot be assembled")
        self._batching, self._standard = batching, standard
        self._aside = DocumentReader()

    def close(self) -> None:
        self._aside.close()

    def count(self, batch: Batch, members: BatchMembers) -> InterchangeCount:
        """Return what writing this batch would use, found by a dry run."""
        unfit: dict[int, str] = {}
        while True:
            drawing = NumberRanges({})
            try:
                for _ in self._pieces(batch, members, unfit, drawing):
                    pass
            except Refused as refusal:
                position = find_unfit_member(refusal)
                if position is None:
                    return InterchangeCount(numbers={}, fault=f"{refusal.code}: {refusal.detail}")
                self._note_unfit(position, refusal, batch, members, unfit)
            else:
                used = {scope: last - first + 1 for scope, (first, last) in drawing.list_used().items()}
                return InterchangeCount(numbers=used, unfit=unfit)

    def write(
        self, batch: Batch, members: BatchMembers, unfit: Mapping[int, str], latest: Mapping[str, int], file: str
    ) -> WrittenInterchange:
        """Write the interchange as a file; ``latest`` are the numbers after which it draws its own."""
        drawing, placed = NumberRanges(latest), PlacedRows(f"{file}.placed")
        digest, size = sha256(), 0
        with create_file(file) as target:
            for block in _blocks(self._pieces(batch, members, unfit, drawing, placed.note)):
                digest.update(block)
                size += len(block)
                target.write(block)
        placed.close()
        return WrittenInterchange(size=size, sha256=digest.hexdigest(), placed=placed, numbers=drawing.list_used())

    def _pieces(
        self,
        batch: Batch,
        members: BatchMembers,
        unfit: Mapping[int, str],
        drawing: NumberRanges,
        note: PlacedCallback | None = None,
    ) -> Iterator[bytes]:
        documents = (self._document(row) for row in members_that_fit(members, unfit))
        return self._standard.assemble_members(documents, self._envelope(batch), drawing, note)

    def _document(self, row: Row) -> DescribedDocument:
        options = _options_in(row["declared"]) if row["declared"] else {}
        return DescribedDocument(self._aside.read(document_of(row)), options)

    def _note_unfit(
        self, position: int, refusal: Refused, batch: Batch, members: BatchMembers, unfit: dict[int, str]
    ) -> None:
        """Note who does not fit, and all behind it who do not even fit alone; ``position`` is among those that were left."""
        left = [place for place in range(batch.count) if place not in unfit]
        first = left[position]
        unfit[first] = refusal.detail
        for place, row in enumerate(members):
            if place > first and place not in unfit and (fault := self._fault_alone(batch, row)):
                unfit[place] = fault

    def _fault_alone(self, batch: Batch, row: Row) -> str:
        try:
            for _ in self._standard.assemble_members([self._document(row)], self._envelope(batch), NumberRanges({})):
                pass
        except Refused as refusal:
            return refusal.detail if find_unfit_member(refusal) is not None else ""
        return ""

    def _envelope(self, batch: Batch) -> Envelope:
        return envelope_of(self._batching, batch)


class NumberRanges:
    """Control numbers, drawn as in ``core.interchange.numbering.NumberDrawing``; only the first and the last are kept."""

    def __init__(self, latest: Mapping[str, int]) -> None:
        self._latest = dict(latest)
        self._first: dict[str, int] = {}

    def next(self, scope: str) -> int:
        number = self._latest.get(scope, 0) + 1
        self._latest[scope] = number
        self._first.setdefault(scope, number)
        return number

    def list_used(self) -> dict[str, tuple[int, int]]:
        """An interchange that asked for no number has one beside it."""
        if not self._first:
            self.next("interchange")
        return {scope: (first, self._latest[scope]) for scope, first in self._first.items()}


def members_that_fit(members: Iterable[Row], unfit: Mapping[int, str]) -> Iterator[Row]:
    return (row for place, row in enumerate(members) if place not in unfit)


class PlacedRows:
    """Positions of documents, stored in a file: there may be a million."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._waiting: list[tuple[Any, ...]] = []
        self._sink = create_file(file)
        self._writer = pa.ipc.new_stream(self._sink, PLACED)

    def note(self, placed: Placed) -> None:
        self._waiting.append((placed.position, placed.interchange, placed.group, placed.kind, placed.reference))
        if len(self._waiting) >= PLACED_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()
        self._sink.close()

    def __iter__(self) -> Iterator[Row]:
        """In the order of positions, in which they were noted."""
        system, path = open_file_system(self._file)
        with system.open_input_file(path) as file:
            for batch in pa.ipc.open_stream(file):
                yield from batch.to_pylist()

    def _flush(self) -> None:
        if self._waiting:
            columns = zip(*self._waiting, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, PLACED, strict=True)]
            self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=PLACED))
            self._waiting = []


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join pieces into blocks that are worth a write."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= WRITE_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
