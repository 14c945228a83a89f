"""A lane over messages that are in Spark already: a table of wires, or a stream of them.

Grain in: one row per wire, with the columns of ``WIRES``; out: the lane's rows, as for an archive. A streaming DataFrame stays
one, so that whatever Spark reads (a topic, a growing folder) can pass a lane, whenever its trigger says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from postroad.core.codecs.detect import FORMS
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.archived import Archived, Place, Unreadable
from postroad.warehouse.bulk.directory_text import DirectoryText, directory_from, text_of
from postroad.warehouse.bulk.job import Batches
from postroad.warehouse.bulk.lane import Lane, handled, prepared, schema_of
from postroad.warehouse.bulk.reading import Unsaid, decoded

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

WIRES = "file string, position long, sender string, at_us long, form string, wire binary"
NAMES = ("file", "position", "sender", "at_us", "form", "wire")


def over_wires(wires: DataFrame, lane: Lane, directory: Directory) -> DataFrame:
    """The lane's rows about these wires; ``sender`` counts where a message has no From, ``form`` is json, soap11 …"""
    from pyspark.sql.pandas.types import from_arrow_schema

    text = wires.sparkSession.sparkContext.broadcast(text_of(directory))
    return wires.select(*NAMES).mapInArrow(_work(text, lane), from_arrow_schema(schema_of(lane)))


def _work(text: Broadcast[DirectoryText], lane: Lane) -> Callable[[Batches], Batches]:
    def work_on(batches: Batches) -> Batches:
        with prepared(lane, directory_from(text.value)) as work:
            for batch in batches:
                yield from handled(_items(batch), lane, work)

    return work_on


def _items(batch: pa.RecordBatch) -> Iterator[Archived | Unreadable]:
    columns = [batch.column(name).to_pylist() for name in NAMES]
    for file, position, sender, at_us, form, wire in zip(*columns, strict=True):
        place = Place(file or "", position or 0)
        codec = FORMS.get(form)
        if wire is None:
            yield Unreadable(place, "wire.malformed", "The row has no wire")
        elif codec is None:
            known = ", ".join(FORMS)
            yield Unreadable(
                place, "wire.unsupported", f"The form {form!r} is not known; use one of {known}", len(wire)
            )
        else:
            yield decoded(wire, codec, place, Unsaid(sender=sender or "", at_us=at_us or 0))
