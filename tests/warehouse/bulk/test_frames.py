"""A bulk operation over messages that are in Spark already, whole tables and streams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from postroad.core.codecs.json_form import JSON_FORM
from postroad.warehouse.bulk.operation import handle_messages
from postroad.warehouse.bulk.read.archive import ArchivedMessage, ArchivePlace
from postroad.warehouse.bulk.read.directories import apply_document
from postroad.warehouse.bulk.routing import RouteOperation
from postroad.warehouse.bulk.wire_frames import WIRES, run_on_wires
from tests.warehouse.bulk.traffic import CODECS, document, messages, order, wires

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW_US = 1_794_909_600_000_000
DIRECTORY = apply_document(document())
OPERATION = RouteOperation()


def expected() -> list[dict[str, Any]]:
    items = [
        ArchivedMessage(ArchivePlace("t", number), message.sender, NOW_US, form, len(wire), message)
        for number, ((form, wire), message) in enumerate(zip(wires(), messages() * len(CODECS), strict=True))
    ]
    return [
        row for batch in handle_messages([*items], OPERATION, OPERATION.prepare(DIRECTORY)) for row in batch.to_pylist()
    ]


@pytest.mark.req("P5")
def test_a_table_of_wires_is_handled_as_an_archive_is(spark: SparkSession) -> None:
    rows = [("t", number, "", NOW_US, form, wire) for number, (form, wire) in enumerate(wires())]
    rows.append(("t", len(rows), "", NOW_US, "fax", b"?"))
    unsaid = [(None, len(rows), None, None, "json", None), (None, len(rows) + 1, None, None, None, b"?")]
    found = run_on_wires(spark.createDataFrame([*rows, *unsaid], WIRES).repartition(3), OPERATION, DIRECTORY)
    by_place = [row.asDict(recursive=True) for row in found.orderBy("position", "copy").collect()]
    assert by_place[:-3] == expected()
    assert [row["code"] for row in by_place[-3:]] == ["wire.unsupported", "wire.malformed", "wire.unsupported"]


@pytest.mark.req("P5")
def test_a_stream_of_wires_passes_an_operation(spark: SparkSession, tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.mkdir()
    lines = spark.readStream.text(str(source)).selectExpr(
        "'s' file", "0L position", "'' sender", f"{NOW_US}L at_us", "'json' form", "cast(value as binary) wire"
    )
    for part in (range(3), range(3, 5)):
        made = [JSON_FORM.encode_post(order(number, 10)) for number in part]
        (source / f"{part.start}.ndjson").write_bytes(b"\n".join(made))
        query = (
            run_on_wires(lines, OPERATION, DIRECTORY)
            .writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start(str(target), format="parquet")
        )
        query.awaitTermination()
    found = spark.read.parquet(str(target)).orderBy("handle").collect()
    assert [(row["handle"], row["route"]) for row in found] == [
        (f"order {number}", ["Acme/Gate", "Acme/Supply"]) for number in range(5)
    ]
