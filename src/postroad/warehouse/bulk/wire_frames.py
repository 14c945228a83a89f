"""Bulk operations on messages that are already in Spark: a table of wires, or a stream of them.

Grain in: one row per wire, with the columns of ``WIRES``; out: the operation's rows, as for an archive. A streaming
DataFrame stays one, so whatever Spark reads (a topic, a growing folder) can pass through an operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from postroad.core.codecs.native_formats import FORMS
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.job import Batches
from postroad.warehouse.bulk.operation import BulkOperation, handle_messages, prepare_operation, schema_of
from postroad.warehouse.bulk.read.archive import ArchivedMessage, ArchivePlace, UnreadableMessage
from postroad.warehouse.bulk.read.directories import DirectoryText, directory_from_text, directory_text
from postroad.warehouse.bulk.read.messages import ArchiveDefaults, decode_wire

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

WIRES = "file string, position long, sender string, at_us long, form string, wire binary"
NAMES = ("file", "position", "sender", "at_us", "form", "wire")


def run_on_wires(wires: DataFrame, operation: BulkOperation, directory: Directory) -> DataFrame:
    """Return the operation's rows for these wires; ``sender`` is the default sender, ``form`` the native format."""
    from pyspark.sql.pandas.types import from_arrow_schema

    text = wires.sparkSession.sparkContext.broadcast(directory_text(directory))
    return wires.select(*NAMES).mapInArrow(_wire_work(text, operation), from_arrow_schema(schema_of(operation)))


def _wire_work(text: Broadcast[DirectoryText], operation: BulkOperation) -> Callable[[Batches], Batches]:
    def work_on(batches: Batches) -> Batches:
        with prepare_operation(operation, directory_from_text(text.value)) as work:
            for batch in batches:
                yield from handle_messages(_items(batch), operation, work)

    return work_on


def _items(batch: pa.RecordBatch) -> Iterator[ArchivedMessage | UnreadableMessage]:
    columns = [batch.column(name).to_pylist() for name in NAMES]
    for file, position, sender, at_us, form, wire in zip(*columns, strict=True):
        place = ArchivePlace(file or "", position or 0)
        codec = FORMS.get(form)
        if wire is None:
            yield UnreadableMessage(place, "wire.malformed", "The row has no wire")
        elif codec is None:
            known = ", ".join(FORMS)
            yield UnreadableMessage(
                place, "wire.unsupported", f"The form {form!r} is not known; use one of {known}", len(wire)
            )
        else:
            yield decode_wire(wire, codec, place, ArchiveDefaults(sender=sender or "", at_us=at_us or 0))
