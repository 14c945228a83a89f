"""The warehouse's finished tables, opened as files.

Rules: the server knows only the tables of the warehouse, and reads them only if the extra ``postroad[warehouse]`` is
installed; otherwise ``MissingMarts`` explains what to do. A query names the organization whose rows it reads; only operators
may omit it. Queries have their own threads, so a slow one delays nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from duckdb import DuckDBPyConnection

NEEDED = ("deltalake", "duckdb")
LOG = "log"
OPTIONS: dict[str, Any] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "threads": 2,
    "memory_limit": "1GB",
}
ALL = ""  # of organizations: every one
Answer = TypeVar("Answer")
Row = tuple[Any, ...]

_THREADS = ThreadPoolExecutor(max_workers=2, thread_name_prefix="marts")


class MissingMarts(Exception):
    """The tables cannot be read; ``instruction`` and ``command`` tell an operator what to do."""

    def __init__(self, text: str, instruction: str, command: str) -> None:
        super().__init__(text)
        self.instruction = instruction
        self.command = command


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """The organization and the days of the requested rows."""

    organization: str  # ``ALL`` for operators only
    first: date
    last: date

    @property
    def values(self) -> tuple[str, date, date]:
        return self.organization, self.first, self.last


class Marts:
    """The tables of one query, opened in their current versions."""

    def __init__(self, folder: Path, *names: str) -> None:
        if any(find_spec(name) is None for name in NEEDED):
            raise MissingMarts("This server cannot read the warehouse's tables: the extra is not installed.", *INSTALL)
        tables = {name: _open_table(folder, name) for name in names}
        self.made_at_us = max(_made_at_us(table) for table in tables.values())
        self._connection = _connect(tables)

    def rows(self, question: str, *values: Any) -> list[Row]:
        return self._connection.execute(question, list(values)).fetchall()


def check_is_current(folder: Path, app: str, names: Sequence[str]) -> None:
    """Refuse tables that do not cover the whole log, as an aborted run may leave them."""
    log = _open_table(folder, LOG)
    landed = sum(number or 0 for number in log.get_add_actions()["num_records"].to_pylist())
    if any((_open_table(folder, name).transaction_version(app) or 0) < landed for name in names):
        raise MissingMarts("The billing tables are behind the log: the pipeline is running, or was stopped.", *RUN)


async def run_query(question: Callable[[], Answer]) -> Answer:
    """Run a query outside the event loop."""
    return await asyncio.get_running_loop().run_in_executor(_THREADS, question)


RUN = ("Run this on the server, for example every night:", "postroad pipeline run")
INSTALL = (
    "Install the extra where the server runs (from a clone of the repository), then run the pipeline:",
    "pip install '.[warehouse]'\npostroad pipeline run",
)


def _open_table(folder: Path, name: str) -> DeltaTable:
    from deltalake import DeltaTable

    path = str(folder / name)
    if not DeltaTable.is_deltatable(path):
        raise MissingMarts("The warehouse has no tables yet.", *RUN)
    return DeltaTable(path)


def _made_at_us(table: DeltaTable) -> int:
    return int(table.history(1)[0]["timestamp"]) * 1_000


def _connect(tables: dict[str, DeltaTable]) -> DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect(config=OPTIONS)
    for name, table in tables.items():
        files = [unquote(path) for path in table.file_uris()]  # which stand there as in an address
        if files:
            relation = connection.read_parquet(files, hive_partitioning=True, union_by_name=True)
        else:
            relation = connection.from_arrow(table.to_pyarrow_table())
        relation.create_view(name)
    return connection
