"""The report table ``anomalies``: sudden changes of an organization's volume, error rate or latency.

Grain: one row per (day, organization, measure) that is flagged; ``anomaly_scores`` computes the flags.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.warehouse.reports.anomaly_scores import PartnerDay, score_days

COLUMNS = "day date, organization string, measure string, value double, expected double, score double"
ARROW = pa.schema(
    [
        pa.field("day", pa.date32()),
        pa.field("organization", pa.string()),
        pa.field("measure", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("expected", pa.float64()),
        pa.field("score", pa.float64()),
    ]
)


def anomalies(partner_days: DataFrame) -> DataFrame:
    last = partner_days.agg(fn.max("day").alias("last_day"))
    return partner_days.crossJoin(fn.broadcast(last)).groupBy("organization").applyInArrow(_of_organization, COLUMNS)


def _of_organization(table: pa.Table) -> pa.Table:
    rows = table.to_pylist()
    organization = rows[0]["organization"]
    found = [
        {"organization": organization, "day": one.day, "measure": one.measure}
        | {"value": float(one.value), "expected": float(one.expected), "score": one.score}
        for one in score_days(_days(rows), rows[0]["last_day"])
        if one.is_flagged
    ]
    return pa.Table.from_pylist(found, schema=ARROW)


def _days(rows: list[dict[str, object]]) -> Iterator[PartnerDay]:
    names = PartnerDay.__dataclass_fields__
    for row in rows:
        yield PartnerDay(**{name: value for name, value in row.items() if name in names})  # type: ignore[arg-type]
