"""The batches that send ports would make on both sides, their differences, waiting times and costs.

Rules: on both sides the functions of a batcher make the batches, and time continues after the last message until
every time of a policy has passed. A message is in another batch if it would not leave with exactly the same others.
An interchange is a message that its port sends, and is billed as one, with the bytes of its members; services that
rules of its receiver include are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from postroad.core.model.batch import Batch
from postroad.core.model.message import MessageType
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.batch.folding import BatchArrival, BatchFolding, JoinedBatch
from postroad.warehouse.bulk.batch.send_ports import BulkSendPort, find_send_port
from postroad.warehouse.bulk.job import Batches
from postroad.warehouse.whatif.port_arrivals import ALONE, GATHERED, read_port_arrival
from postroad.warehouse.whatif.report import PortChange, PortSide

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

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
        pa.field("closed_at_us", pa.int64()),  # null: never closed
        pa.field("is_first", pa.bool_()),  # in its batch
        pa.field("batch_bytes", pa.int64()),
    ]
)

Ports = Mapping[tuple[str, str], BulkSendPort]  # by side and GCID


def find_ports(before: Directory, after: Directory, batch_bytes: int = 0) -> Ports:
    """Return the send ports of both sides, with batches of at most so many bytes."""
    found = {}
    for side, directory in zip(SIDES, (before, after), strict=True):
        for service in directory.services.values():
            if (port := find_send_port(service)) is not None:
                found[side, service.gcid] = port.within(batch_bytes)
    return found


def port_arrivals_frame(rows: DataFrame) -> DataFrame:
    """Grain: one row per side and copy that reaches a send port."""
    from pyspark.sql import functions as f

    each = rows.where("record = 'message'").select("seq", "at_us", "session", f.explode("arrivals").alias("arrival"))
    return each.select("seq", "at_us", "session", "arrival.*")


def batch_members_frame(arrivals: DataFrame, ports: Ports) -> DataFrame:
    """Grain: one row per side and batched copy, with its batch."""
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


def _batched(rows: Iterator[dict[str, Any]], port: BulkSendPort) -> Iterator[list[dict[str, Any]]]:
    """Yield the members, batch by batch."""
    folding = BatchFolding(policy=port.policy, port=port.port)
    coming = (BatchArrival(read_port_arrival(row, place), row["at_us"], row) for place, row in enumerate(rows))
    joined: list[dict[str, Any]] = []
    for event in folding.batches(coming):
        if isinstance(event, JoinedBatch):
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


BATCHED = 20_000_000  # copies from here on are interchanges, and messages sent individually


def port_changes(
    arrivals: DataFrame, gathered: DataFrame, before: Directory, after: Directory
) -> tuple[PortChange, ...]:
    """Grain: one row per send port with arrivals on either side; the most messages first."""
    sides: dict[tuple[str, str], dict[str, Any]] = {}
    for frame in (_arrival_outcomes(arrivals), _sides(gathered)):
        for row in frame.collect():
            sides.setdefault((row["port"], row["side"]), {}).update(row.asDict())
    moved = {row["port"]: row["count"] for row in _moved(gathered).groupBy("port").count().collect()}
    names = {gcid: service.address for side in (before, after) for gcid, service in side.services.items()}
    found = [
        PortChange(
            port=names.get(port, port),
            before=_side(sides.get((port, "before"), {})),
            after=_side(sides.get((port, "after"), {})),
            in_other_batches=moved.get(port, 0),
        )
        for port in sorted({port for port, _ in sides})
    ]
    return tuple(sorted(found, key=lambda one: (-one.after.messages, one.port)))


def _arrival_outcomes(arrivals: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    outcome = f.col("outcome")
    return arrivals.groupBy("port", "side").agg(
        f.count_if(outcome == GATHERED).alias("messages"),
        f.count_if(outcome == ALONE).alias("alone"),
        f.count_if(~outcome.isin(GATHERED, ALONE)).alias("undecided"),
    )


def _sides(gathered: DataFrame) -> DataFrame:
    from pyspark.sql import functions as f

    is_closed = f.col("closed_at_us").isNotNull()
    wait = f.col("closed_at_us") - f.col("at_us")
    first = f.col("is_first") & is_closed
    return gathered.groupBy("port", "side").agg(
        f.count_if(first).alias("batches"),
        f.count_if(~is_closed).alias("left_open"),
        f.sum(f.when(first, f.col("batch_bytes"))).alias("bytes"),
        f.max(f.when(first, f.col("batch_bytes"))).alias("largest_bytes"),
        f.avg(wait).alias("wait_us"),
        f.percentile(wait, 0.95).alias("wait_p95_us"),
        f.max(wait).alias("wait_most_us"),
    )


def _side(row: dict[str, Any]) -> PortSide:
    return PortSide(
        messages=row.get("messages") or 0,
        alone=row.get("alone") or 0,
        undecided=row.get("undecided") or 0,
        batches=row.get("batches") or 0,
        left_open=row.get("left_open") or 0,
        bytes=row.get("bytes") or 0,
        largest_bytes=row.get("largest_bytes") or 0,
        wait_s=_seconds(row.get("wait_us")),
        wait_p95_s=_seconds(row.get("wait_p95_us")),
        wait_most_s=_seconds(row.get("wait_most_us")),
    )


def _seconds(microseconds: float | None) -> float:
    return round((microseconds or 0) / 1_000_000, 3)


def _moved(gathered: DataFrame) -> DataFrame:
    """Return messages that are batched on both sides, but with other members."""
    from pyspark.sql import functions as f

    company = gathered.groupBy("side", "port", "batch").agg(
        f.struct(f.count("*"), f.min("seq"), f.max("seq"), f.bit_xor(f.xxhash64("seq", "copy"))).alias("company")
    )
    known = gathered.join(company, ["side", "port", "batch"]).select("side", "port", "seq", "copy", "company")
    was, is_now = (known.where(f.col("side") == side).drop("side") for side in SIDES)
    both = was.join(is_now.withColumnRenamed("company", "other"), ["port", "seq", "copy"])
    return both.where(f.col("company") != f.col("other"))


# ---- and what they cost ----------------------------------------------------------------------------------------------


def billed_rows(
    arrivals: DataFrame, gathered: DataFrame, ports: Ports, before: Directory, after: Directory
) -> DataFrame:
    """Return billable ``forward`` rows: the interchanges and individual messages that each port sends."""
    from pyspark.sql import functions as f

    interchanges = gathered.where("is_first and closed_at_us is not null").select(
        "side",
        "port",
        "seq",
        "copy",
        "session",
        f.col("closed_at_us").alias("at_us"),
        f.col("batch_bytes").alias("size"),
    )
    alone = arrivals.where(f"outcome = '{ALONE}'").select(
        "side", "port", "seq", "copy", "session", "at_us", f.col("bytes").alias("size")
    )
    sent = interchanges.unionByName(alone).join(
        f.broadcast(_receivers(arrivals, ports, before, after)), ["side", "port"]
    )
    party = f.struct(f.col("receiver").alias("service"), f.lit(None).cast("string").alias("payer"))
    none = f.array().cast("array<struct<service:string,payer:string>>")
    number = (f.lit(BATCHED) + f.col("copy")).cast("int")
    way = f.struct(number.alias("copy"), none.alias("transit"), party.alias("recipient"), none.alias("extra"))

    def ways(side: str) -> Column:
        return f.when(f.col("side") == side, f.array(way)).otherwise(f.array().cast(f"array<{_WAY}>")).alias(side)

    return sent.select(
        f.lit("forward").alias("record"), "seq", "at_us", "session", f.lit(MessageType.NOTIFICATION.value).alias("type"),
        "size", f.col("port").alias("sender"), f.array().cast("array<string>").alias("passed"), *map(ways, SIDES),
    )  # fmt: skip


_WAY = (
    "struct<copy:int,transit:array<struct<service:string,payer:string>>,recipient:struct<service:string,payer:string>,"
    "extra:array<struct<service:string,payer:string>>>"
)


def _receivers(arrivals: DataFrame, ports: Ports, before: Directory, after: Directory) -> DataFrame:
    directories = dict(zip(SIDES, (before, after), strict=True))
    known = [
        (side, gcid, receiver.gcid)
        for (side, gcid), port in ports.items()
        if (receiver := directories[side].service(port.batching.sends_to)) is not None
    ]
    return arrivals.sparkSession.createDataFrame(known, "side string, port string, receiver string")
