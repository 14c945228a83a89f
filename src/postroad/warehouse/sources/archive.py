"""An archive as a source: files that ``postroad pipeline export`` wrote, JSON lines or Parquet, read by Spark's own readers.

Kept rule: a file that is there is complete and never changes, since an export gives it its name when it is done. So landing an
archive is landing each of its files once, in any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from postroad.errors import Misconfigured
from postroad.warehouse.landing.frame import log_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Form = Literal["jsonl", "parquet"]
FORMS: tuple[Form, ...] = ("jsonl", "parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The files of one folder."""

    folder: Path
    form: Form

    @classmethod
    def found_in(cls, folder: Path) -> Archive:
        """The archive in a folder, by what its files are called."""
        for form in FORMS:
            if any(folder.glob(f"*.{form}")):
                return cls(folder=folder, form=form)
        raise Misconfigured([f"{folder} holds no archive: there is no file *.jsonl or *.parquet in it"])

    def files(self) -> list[Path]:
        return sorted(self.folder.glob(f"*.{self.form}"))

    def frame(self, spark: SparkSession, files: Sequence[Path]) -> DataFrame:
        """The events in these files; a line that is not one of ours fails the job and is not skipped."""
        reader = spark.read.schema(log_schema())
        paths = [str(file) for file in files]
        if self.form == "parquet":
            return reader.parquet(*paths)
        return reader.option("mode", "FAILFAST").json(paths)
