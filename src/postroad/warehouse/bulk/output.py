"""Where a lane's rows go: Parquet, and lines of JSON beside it for whoever asks.

Kept rule: what an earlier job left is never mixed with or overwritten by a later one's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from postroad.errors import Misconfigured
from postroad.warehouse.bulk.archive import file_system

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET, NDJSON = "parquet", "ndjson"


def require_new(folder: str) -> None:
    """Refuse a folder in which something lies already."""
    from pyarrow import fs

    system, path = file_system(folder)
    selector = fs.FileSelector(path, allow_not_found=True)
    if system.get_file_info(selector):
        raise Misconfigured([f"{folder} is not empty; name a new folder with --out, or empty this one first"])


def write(spark: SparkSession, rows: DataFrame, folder: str, *, ndjson: bool = False) -> dict[str, Any]:
    """Write the rows, and say how many there are of each code, the empty one being those that were handled."""
    where = folder if "://" in folder else Path(folder).absolute().as_uri()
    rows.write.parquet(f"{where}/{PARQUET}")
    written = spark.read.parquet(f"{where}/{PARQUET}")
    if ndjson:
        written.write.option("ignoreNullFields", "false").json(f"{where}/{NDJSON}")
    counts = {row["code"]: row["count"] for row in written.groupBy("code").count().collect()}
    return {"rows": sum(counts.values()), "handled": counts.pop("", 0), "faults": dict(sorted(counts.items()))}
