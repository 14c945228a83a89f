"""The batches that send ports would make of logged traffic, on both sides, and how long messages would wait for them.

Kept rule: on both sides batches are played by the functions of a batcher, time going on after the last message until every time
of a policy has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from postroad.core.model.batch import Batch
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.folding import Come, Folding, Joined
from postroad.warehouse.bulk.job import Batches
from postroad.warehouse.bulk.send_ports import SendPort, send_port_of
from postroad.warehouse.whatif.port_arrivals import GATHERED, arrival_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SIDES = ("before", "after")
ROWS = 4_096
MEMBERS = pa.schema(
    [
        pa.field("side", pa.string()),
        pa.field("port", pa.string()),
        pa.field("seq", pa.int64()),
        pa.field("copy", pa.int32()),
        pa.field("at_us", pa.int64()),
        pa.field("session", pa.string()),
        pa.field("bytes", pa.int64()),
        pa.field("batch", pa.string()),
        pa.field("closed_at_us", pa.int64()),  # null: nothing closes it
        pa.field("is_first", pa.bool_()),  # in its batch
        pa.field("batch_bytes", pa.int64()),
    ]
)

Ports = Mapping[tuple[str, str], SendPort]  # by side and GCID


def ports_of(before: Directory, after: Directory, batch_bytes: int = 0) -> Ports:
    """The send ports of both sides, with batches of so many bytes at most."""
    found = {}
    for side, directory in zip(SIDES, (before, after), strict=True):
        for service in directory.services.values():
            if (port := send_port_of(service)) is not None:
                found[side, service.gcid] = port.within(batch_bytes)
    return found


def arrived(rows: DataFrame) -> DataFrame:
    """Grain: one row per side and copy that comes to a send port."""
    from pyspark.sql import functions as f

    each = rows.where("record = 'message'").select("seq", "at_us", "session", f.explode("arrivals").alias("arrival"))
    return each.select("seq", "at_us", "session", "arrival.*")


def members(arrivals: DataFrame, ports: Ports) -> DataFrame:
    """Grain: one row per side and copy that is gathered, with its batch."""
    from pyspark.sql.pandas.types import from_arrow_schema

    keys = ("side", "port", "key")
    parted = arrivals.where(f"outcome = '{GATHERED}'").repartition(*keys)
    return parted.sortWithinPartitions(*keys, "seq", "copy").mapInArrow(_folding(ports), from_arrow_schema(MEMBERS))


def _folding(ports: Ports) -> Callable[[Batches], Batches]:
    def fold(batches: Batches) -> Batches:
        rows = (row for batch in batches for row in batch.to_pylist())
        waiting: list[dict[str, Any]] = []
        for (side, gcid), of_port in groupby(rows, key=lambda row: (row["side"], row["port"])):
            for found in _batched(of_port, ports[side, gcid]):
                waiting += found
                if len(waiting) >= ROWS:
                    yield pa.RecordBatch.from_pylist(waiting, schema=MEMBERS)
                    waiting = []
        if waiting:
            yield pa.RecordBatch.from_pylist(waiting, schema=MEMBERS)

    return fold


def _batched(rows: Iterator[dict[str, Any]], port: SendPort) -> Iterator[list[dict[str, Any]]]:
    """The members of one batch after the other."""
    folding = Folding(policy=port.policy, port=port.port)
    coming = (Come(arrival_in(row, place), row["at_us"], row) for place, row in enumerate(rows))
    joined: list[dict[str, Any]] = []
    for event in folding.batches(coming):
        if isinstance(event, Joined):
            joined.append(event.come.row)
        else:
            yield [_member(row, event.batch, is_first=place == 0) for place, row in enumerate(joined)]
            joined = []


def _member(row: dict[str, Any], batch: Batch, *, is_first: bool) -> dict[str, Any]:
    own = {name: row[name] for name in ("side", "port", "seq", "copy", "at_us", "session", "bytes")}
    closed_at_us = batch.closed_at_us or None
    return own | {
        "batch": batch.id, "closed_at_us": closed_at_us, "is_first": is_first, "batch_bytes": batch.bytes,
    }  # fmt: skip
