"""What a worker of `postroad bulk batch` does with one batch, without Spark; for ``benchmarks.large_interchange``."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from msgspec.structs import replace

from benchmarks.large_interchange import NOON_US, documents
from postroad.core.batching.moves import close_batch, open_batch
from postroad.core.interchange.standard import BUILT_IN
from postroad.core.model.batch import Batch, Criterion
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.warehouse.bulk.batch.interchange_files import InterchangeFiles
from postroad.warehouse.bulk.batch.manifest import assembled_rows, record_batches
from postroad.warehouse.bulk.batch.member_files import BatchMembers, MembersPosition, MembersWriter
from postroad.warehouse.bulk.batch.stored_documents import DocumentWriter
from postroad.warehouse.bulk.operation import COLUMNS

POLICY = BatchPolicy(count=1_000_000)


def warmed_up() -> None:
    """Arrow brings pandas in with the first array."""
    pa.array([{"a": "b"}])


def in_bulk(standard: str, size: int, folder: Path) -> tuple[int, int]:
    """Documents and bytes of an interchange that was written of what had been put aside."""
    batch, at = _put_aside(standard, size, folder)
    batching = Batching(sends_to="", standard=standard, sender="MYBIZ", receiver="ACME", policy=POLICY)
    files, members = InterchangeFiles(batching, BUILT_IN.standard(standard)), BatchMembers(at, POLICY)
    counted = files.count(batch, members)
    written = files.write(batch, members, counted.unfit, {}, str(folder / "interchange"))
    rows = record_batches(assembled_rows(members, {}, written.placed, batch, "interchange"))
    files.close()
    return sum(one.num_rows for one in rows), written.size


def _put_aside(standard: str, size: int, folder: Path) -> tuple[Batch, MembersPosition]:
    """The batch as the bulk operation and the fold leave it."""
    aside, members = DocumentWriter(str(folder / "documents")), MembersWriter(str(folder / "members"))
    unsaid = {field.name: "" if field.type == pa.string() else 0 for field in COLUMNS}
    count = total = 0
    for document in documents(standard, size):
        place = aside.put(document)
        count, total = count + 1, total + len(document)
        row = unsaid | {"file": "orders.ndjson", "position": count, "kind": "850", "sort": [], "declared": ""}
        members.add(row | {"bytes": place.length, "aside": place.file, "offset": place.offset})
    at = members.finish()
    aside.close()
    members.close()
    batch = close_batch(open_batch("b", ("group",), NOON_US), Criterion.COUNT, "", NOON_US)
    return replace(batch, count=count, bytes=total), at
