"""Delta tables without a Delta library in Spark: Spark handles the Parquet files, ``deltalake`` the table log.

Rules: a file belongs to a table once a commit names it, and never before. A job writes into a folder of its own, moves its
files beside the others, and then commits; what a crash leaves behind is in no commit, is never read, and is vacuumed.
Moving must be cheap and atomic, so a table lies in a file system (local, NFS), not in an object store. New columns are
added at the end, and the schema changes in no other way; every column may be null, because files from before a column was
added do not have it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import create_table_with_add_actions

from postroad.errors import Misconfigured, Unavailable
from postroad.warehouse.store.staged_files import StagedRows, stage_rows
from postroad.warehouse.store.table_files import delete_orphans, list_files
from postroad.warehouse.store.table_store import NEVER, partition_column

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType


def nullable_schema(given: StructType) -> Schema:
    """Spark's schema as Delta writes it down, which is the same text, with every column nullable."""
    text = given.json()
    for what in ("nullable", "containsNull", "valueContainsNull"):
        text = text.replace(f'"{what}":false', f'"{what}":true')
    return Schema.from_json(text)


def find_added_columns(kept: Schema, given: Schema, table: str) -> list[Field]:
    """The columns of ``given`` that the table does not have yet; a column of another type is Misconfigured."""
    known = {field.name: field for field in kept.fields}
    changed = [field for field in given.fields if field.name in known and field.type != known[field.name].type]
    if changed:
        faults = [
            f"table {table}: column {field.name} is {known[field.name].type}, not {field.type}" for field in changed
        ]
        raise Misconfigured(
            [*faults, f"give the changed column another name, or remove the table {table} and rebuild it"]
        )
    return [field for field in given.fields if field.name not in known]


class DeltaStore:
    """Implements ``TableStore``: one folder, one Delta table in it per name."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self.folder = folder

    def read(self, name: str, days: Collection[date] | None = None) -> DataFrame:
        from pyspark.sql.types import StructType

        table = self._table(name)
        schema = StructType.fromJson(json.loads(table.schema().to_json()))
        files = self._files(table, name, days)
        if not files:
            return self._spark.createDataFrame([], schema)
        found = self._spark.read.schema(schema).option("basePath", str((self.folder / name).resolve())).parquet(*files)
        return found.select(schema.names)

    def names(self) -> list[str]:
        """Every table there is."""
        folders = self.folder.iterdir() if self.folder.is_dir() else ()
        return sorted(path.name for path in folders if path.is_dir() and self.exists(path.name))

    def exists(self, name: str) -> bool:
        return DeltaTable.is_deltatable(str(self.folder / name))

    def append(self, df: DataFrame, name: str, app: str, version: int) -> bool:
        return self.append_all(df, name, {app: version})

    def append_all(self, df: DataFrame, name: str, versions: Mapping[str, int]) -> bool:
        if any(version <= self.version(name, app) for app, version in versions.items()):
            return False
        self.commit(self.stage(df, name), versions)
        return True

    def replace_days(self, df: DataFrame, name: str, days: Collection[date], app: str, version: int) -> bool:
        if version <= self.version(name, app):
            return False
        found = self.stage(df, name)
        wanted = {day.isoformat() for day in days}
        if stray := {file.partition for file in found.files} - wanted:
            found.discard()
            raise ValueError(f"{name}: rows of {sorted(map(str, stray))} are not of the days that are replaced")
        self.commit(found, {app: version}, replaced=sorted(wanted))
        return True

    def replace(self, df: DataFrame, name: str, app: str, version: int) -> bool:
        if version <= self.version(name, app):
            return False
        self.commit(self.stage(df, name), {app: version}, whole=True)
        return True

    def version(self, name: str, app: str) -> int:
        return _version(self._table(name), app) if self.exists(name) else NEVER

    def rows(self, name: str) -> int:
        actions = self._table(name).get_add_actions()
        return sum(number for number in actions["num_records"].to_pylist() if number)

    def files(self, name: str) -> list[str]:
        return self._files(self._table(name), name, None)

    def compact(self, name: str) -> int:
        done = self._table(name).optimize.compact()
        return int(done["numFilesRemoved"]) - int(done["numFilesAdded"])

    def vacuum(self, name: str, older_than_hours: float = 168) -> int:
        return delete_orphans(self._table(name), (self.folder / name).resolve(), older_than_hours)

    def stage(self, df: DataFrame, name: str) -> StagedRows:
        """Write the rows where no one looks yet."""
        column = partition_column(name)
        return stage_rows(df, self.folder / name, column if column in df.columns else None)

    def commit(
        self,
        found: StagedRows,
        versions: Mapping[str, int],
        *,
        replaced: Sequence[str] | None = None,
        whole: bool = False,
    ) -> None:
        """Make staged rows part of their table, instead of the days ``replaced`` or of the whole table."""
        found.publish()
        if not self.exists(found.folder.name):
            self._create(found, versions)
            return
        table = self._table(found.folder.name)
        if any(_version(table, app) >= version for app, version in versions.items()):
            raise _overtaken(found.folder.name)
        mode = "overwrite" if whole or replaced is not None else "append"
        try:
            self._write(table, found, versions, mode, replaced)
        except CommitFailedError as error:
            raise _overtaken(found.folder.name) from error

    def _create(self, found: StagedRows, versions: Mapping[str, int]) -> None:
        create_table_with_add_actions(
            str(found.folder),
            nullable_schema(found.schema),
            found.actions(),
            "error",
            found.partition_by,
            commit_properties=_properties(versions),
        )

    def _write(
        self,
        table: DeltaTable,
        found: StagedRows,
        versions: Mapping[str, int],
        mode: str,
        replaced: Sequence[str] | None,
    ) -> None:
        filters = [(column, "in", list(replaced)) for column in found.partition_by] if replaced is not None else None
        table.create_write_transaction(
            found.actions(),  # type: ignore[arg-type]
            mode,
            self._evolved(table, found.schema),
            found.partition_by,
            filters,
            commit_properties=_properties(versions),
        )

    def _evolved(self, table: DeltaTable, given: StructType) -> Schema:
        """The table's schema, after the columns that are new in ``given`` were added at its end."""
        new = find_added_columns(table.schema(), nullable_schema(given), Path(table.table_uri).name)
        if new:
            table.alter.add_columns(new)
        return table.schema()

    def _table(self, name: str) -> DeltaTable:
        if not self.exists(name):
            raise Misconfigured([f"there is no table {name} in {self.folder}; `postroad pipeline run` makes it"])
        return DeltaTable(str(self.folder / name))

    def _files(self, table: DeltaTable, name: str, days: Collection[date] | None) -> list[str]:
        if days is None:
            return list_files(table)
        wanted = [day.isoformat() for day in days]
        return list_files(table, partition_column(name), wanted) if wanted else []


def _version(table: DeltaTable, app: str) -> int:
    version = table.transaction_version(app)
    return NEVER if version is None else version


def _properties(versions: Mapping[str, int]) -> CommitProperties:
    return CommitProperties(app_transactions=[Transaction(app, version) for app, version in versions.items()])


def _overtaken(table: str) -> Unavailable:
    words = f"Another job changed the table {table} at the same moment, and nothing was written; run this one again"
    return Unavailable("warehouse.busy", words)
