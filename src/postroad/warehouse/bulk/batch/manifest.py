"""The manifest of batching: for each message that reached the send port, its batch and position in the interchange.

Grain: one row per message and document; a message with several documents has a row for each, in the order of the
interchange. ``outcome`` is what happened to it: ``assembled``, ``by itself``, or the state of its batch if that was
not written: ``open``, ``suspended``. A message that cannot be read or does not fit has a code, as in every operation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from postroad.core.model.batch import Batch
from postroad.warehouse.bulk.batch.member_files import Row
from postroad.warehouse.bulk.operation import COLUMNS, divide_into_batches

UNFIT = "interchange.unfit"
ASSEMBLED, BY_ITSELF = "assembled", "by itself"
OWN = (
    pa.field("outcome", pa.string()),
    pa.field("batch", pa.string()),
    pa.field("bytes", pa.int64()),  # of its document
    pa.field("position", pa.int64()),  # of the message among the members
    pa.field("interchange_file", pa.string()),
    pa.field("interchange", pa.string()),  # control number
    pa.field("group", pa.string()),
    pa.field("document_type", pa.string()),
    pa.field("reference", pa.string()),
)
# An operation's rows have a position too: where the message lies in its file.
NAMES = {"position": "archive_position"}
SCHEMA = pa.schema([*[pa.field(NAMES.get(one.name, one.name), one.type, one.nullable) for one in COLUMNS], *OWN])


def not_gathered_row(row: Row) -> Row:
    """Return the row of a message that is in no batch."""
    outcome = None if row["code"] else BY_ITSELF
    return _known(row) | {"outcome": outcome, "bytes": row["bytes"], "document_type": row["kind"]}


def not_assembled_rows(members: Iterable[Row], batch: Batch, outcome: str, why: str = "") -> Iterator[Row]:
    """Return the rows of the members of a batch that was not written."""
    for position, row in enumerate(members):
        yield _member(row, batch, position) | {"outcome": outcome, "detail": why, "document_type": row["kind"]}


def assembled_rows(
    members: Iterable[Row], unfit: Mapping[int, str], placed: Iterable[Row], batch: Batch, file: str
) -> Iterator[Row]:
    """Return the rows of the members of a written batch; ``placed`` are their documents in the same order."""
    coming = iter(placed)
    document = next(coming, None)
    position = -1
    for place, row in enumerate(members):
        if place in unfit:
            yield _known(row) | {"batch": batch.id, "bytes": row["bytes"], "code": UNFIT, "detail": unfit[place]}
            continue
        position += 1
        told = _member(row, batch, position) | {"outcome": ASSEMBLED, "interchange_file": file}
        while document is not None and document["position"] == position:
            yield told | document
            document = next(coming, None)


def _member(row: Row, batch: Batch, position: int) -> Row:
    return _known(row) | {"batch": batch.id, "bytes": row["bytes"], "position": position}


def _known(row: Row) -> Row:
    return {NAMES.get(one.name, one.name): row[one.name] for one in COLUMNS}


def record_batches(rows: Iterable[Row]) -> Iterator[pa.RecordBatch]:
    return divide_into_batches(rows, SCHEMA)
