"""The finished tables as rows, read without Spark, so that reports open quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset as ds
from deltalake import DeltaTable
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from postroad.errors import Misconfigured

Row = dict[str, Any]


class Period(NamedTuple):
    """Days from the first to the last, both included; None is open."""

    first: date | None = None
    last: date | None = None


ALWAYS = Period()


class ReportTables:
    """The tables in a warehouse's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, name: str) -> bool:
        return DeltaTable.is_deltatable(str(self._folder / name))

    def rows(self, name: str, period: Period = ALWAYS, **equal: str) -> list[Row]:
        """The rows of the table whose day lies in the period and whose columns have these values."""
        found: list[Row] = self._dataset(name).to_table(filter=_condition(period, equal)).to_pylist()
        return found

    def sums(self, name: str, period: Period, keys: Sequence[str], value: str) -> list[Row]:
        """The values of a large table, added up by keys before a row of it is looked at."""
        table = self._dataset(name).to_table(columns=[*keys, value], filter=_condition(period, {}))
        summed = table.group_by(list(keys)).aggregate([(value, "sum")])
        found: list[Row] = summed.rename_columns([*keys, value]).to_pylist()
        return found

    def service_addresses(self) -> dict[str, str]:
        """Return the address of each GCID."""
        return {row["service"]: row["address"] for row in self.rows("services")}

    def _dataset(self, name: str) -> ds.Dataset:
        if not self.has(name):
            raise Misconfigured([f"there is no table {name} in {self._folder}; `postroad pipeline run` makes it"])
        # Files are read by Arrow itself: its threads must not call Python, which may be ending by then.
        folder = SubTreeFileSystem(str((self._folder / name).resolve()), LocalFileSystem())
        return DeltaTable(str(self._folder / name)).to_pyarrow_dataset(filesystem=folder)


def _condition(period: Period, equal: Mapping[str, str]) -> ds.Expression | None:
    conditions = [ds.field(column) == value for column, value in equal.items()]
    if period.first is not None:
        conditions.append(ds.field("day") >= period.first)
    if period.last is not None:
        conditions.append(ds.field("day") <= period.last)
    return reduce(and_, conditions) if conditions else None
