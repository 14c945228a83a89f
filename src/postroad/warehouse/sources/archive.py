"""Archives as a source: files written by ``postroad pipeline export``, JSON lines or Parquet.

Rule: a file that is there is complete and never changes, since an export gives it its name when it is done. So landing an
archive is landing each of its files once, in any order.
Rule: ``FORM.chain`` has a line for each file with its last entry and the journal's chain value there, so that files of two
histories are not mixed. Archives of earlier versions have a line for the last file only, or no such file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from postroad.errors import Misconfigured
from postroad.warehouse.landing.log_frame import log_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Form = Literal["jsonl", "parquet"]
FORMS: tuple[Form, ...] = ("jsonl", "parquet")


class Reached(msgspec.Struct):
    """The last entry of a file that was exported or is being exported, and the journal's chain value after its group."""

    seq: int
    chain: str


def read_chain(folder: Path, form: Form) -> list[Reached]:
    """The chain values that exports noted in a folder, in the order of their entries."""
    path = chain_path(folder, form)
    return [msgspec.json.decode(line, type=Reached) for line in path.read_bytes().splitlines()] if path.exists() else []


def chain_path(folder: Path, form: Form) -> Path:
    return folder / f"{form}.chain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The files of one folder."""

    folder: Path
    form: Form

    @classmethod
    def found_in(cls, folder: Path) -> Archive:
        """The archive in a folder, by what its files are called."""
        forms = [form for form in FORMS if any(folder.glob(f"*.{form}"))]
        if not forms:
            raise Misconfigured([f"{folder} is not an archive: it contains no file *.jsonl or *.parquet"])
        if len(forms) > 1:
            raise Misconfigured(
                [f"{folder} holds *.jsonl and *.parquet, and neither may be whole; keep one form in a folder"]
            )
        return cls(folder=folder, form=forms[0])

    def files(self) -> list[Path]:
        return sorted(self.folder.glob(f"*.{self.form}"))

    def chain(self) -> dict[int, bytes]:
        """The journal's chain value after the last entry of each file, by the number of that entry."""
        return {reached.seq: bytes.fromhex(reached.chain) for reached in read_chain(self.folder, self.form)}

    def frame(self, spark: SparkSession, files: Sequence[Path]) -> DataFrame:
        """The events in these files; a line that is not one of ours fails the job and is not skipped."""
        from pyspark.sql import functions as fn

        reader = spark.read.schema(log_schema())
        paths = [str(file) for file in files]
        is_parquet = self.form == "parquet"
        found = reader.parquet(*paths) if is_parquet else reader.option("mode", "FAILFAST").json(paths)
        stranger = f"{self.folder} contains a non-journal event; land files that `postroad pipeline export` has written"
        return found.withColumn("seq", fn.coalesce("seq", fn.raise_error(fn.lit(stranger))))
