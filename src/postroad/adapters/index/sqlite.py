"""The index in a SQLite file: a writer for the process that follows the journal, readers for the one that answers.

Rule: one writer. It works on the thread that calls it, because a thread that steps through rows beside a busy event
loop waits for the interpreter's lock at every row; in the server it therefore has its own process
(``postroad.adapters.index.process``). Queries run in a few threads, so a long one never blocks the event loop. Rule:
a query is answered from one complete index or not at all. While the index is being rebuilt, queries are refused; a
connection to a replaced file is not used again.
"""

from __future__ import annotations

import asyncio
import os
import queue
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import apsw

from postroad.adapters.index.batch_folding import first_hand_outs, fold
from postroad.adapters.index.gap_check import require_no_gap
from postroad.adapters.index.header_columns import complete_answer, complete_table
from postroad.adapters.index.layout import (
    DATABASE_STATEMENTS,
    DATABASE_TABLES,
    KEYS,
    NOTHING_APPLIED,
    ServiceNumbers,
    list_activity,
    to_stored_rows,
)
from postroad.adapters.index.named_sql import load_statements, whole_table
from postroad.adapters.index.sqlite_checkpoint import Checkpoints
from postroad.adapters.index.sqlite_file import (
    UnusableIndex,
    open_reader,
    open_writer,
    report_damage,
    require_checksums,
    write_transaction,
)
from postroad.core.projection.tables import Changes
from postroad.errors import Unavailable
from postroad.ports import JournalHead

READERS = 2

Row = tuple[Any, ...]


class SqliteWriter:
    """Applies changes, each batch in one transaction. Belongs to one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = open_writer(path)
        self._checkpoints = Checkpoints(path, self._connection)
        self._statements = load_statements("statements.sql", "sqlite")
        self._queries = load_statements("queries.sql", "sqlite")
        self._numbers = ServiceNumbers()

    def position(self) -> JournalHead:
        seq, chain = self._connection.execute(self._queries["position"]).get
        return JournalHead(seq, chain)

    def apply(self, changes: Changes, head: JournalHead) -> None:
        with report_damage(self._path):
            self._apply(changes, head)
            self._checkpoints.take_if_due()

    def _apply(self, changes: Changes, head: JournalHead) -> None:
        with write_transaction(self._connection):
            self._know_services()
            changes = fold(changes, self.position().seq)
            for name in DATABASE_STATEMENTS:
                if rows := changes.get(name):
                    self._run(name, to_stored_rows(name, rows, self._numbers))
            self._connection.executemany(self._statements["insert_activity"], list_activity(changes, self._numbers))
            self._connection.executemany(self._statements["insert_service"], self._numbers.take_new())
            self._connection.execute(self._statements["move_position"], head)

    def clear(self) -> None:
        with write_transaction(self._connection):
            for table in DATABASE_TABLES:
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a name from TABLES
            self._connection.execute(self._statements["reset_position"], NOTHING_APPLIED)

    def settle(self) -> None:
        """Copy the write-ahead log to the database file, whose pages have checksums."""
        with report_damage(self._path):
            self._checkpoints.take()

    def close(self) -> None:
        with report_damage(self._path):
            self._checkpoints.close()

    def _run(self, name: str, rows: list[Row]) -> None:
        if name == "hand_out":
            before = self._connection.total_changes()
            self._connection.executemany(self._statements["hand_out_first"], rows)
            if self._connection.total_changes() - before == len(rows):
                return
            self._connection.executemany(self._statements["keep_replaced"], first_hand_outs(rows))
        self._connection.executemany(self._statements[name], rows)

    def _know_services(self) -> None:
        """Read the services' numbers again unless those in memory are the stored ones (a batch failed, another wrote)."""
        if self._connection.execute(self._queries["services_known"]).get != self._numbers.stored:
            self._numbers = ServiceNumbers(self._connection.execute(self._queries["services"]).fetchall())


class IndexOwner(Protocol):
    """The owner of the index that a reader reads: it writes and rebuilds it."""

    @property
    def rebuilds(self) -> int:
        """The number of rebuilds begun."""
        ...

    def require_complete(self) -> None:
        """Raise Unavailable while the index is being rebuilt."""

    def rebuild(self, reason: UnusableIndex) -> Unavailable:
        """Start rebuilding the index; returns the answer to queries in the meantime."""
        ...


class _Opened(NamedTuple):
    connection: apsw.Connection
    file: tuple[int, int]  # device and inode: a rebuilt index has others


class SqliteReader:
    """Runs queries in its own threads, each with a read-only connection that is opened on first use."""

    def __init__(self, path: Path, threads: int = READERS, keeper: IndexOwner | None = None) -> None:
        self._path = path
        self._keeper = keeper
        self._queries = load_statements("queries.sql", "sqlite")
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="index-reader")
        self._idle: queue.SimpleQueue[_Opened] = queue.SimpleQueue()

    async def position(self) -> JournalHead:
        [(seq, chain)] = await self.query("position")
        return JournalHead(seq, chain)

    async def query(self, name: str, *parameters: Any) -> list[Row]:
        return complete_answer(name, await self._run(self._queries[name], parameters))

    async def rows(self, table: str) -> list[Row]:
        return complete_table(table, await self._run(whole_table(table, KEYS[table]), ()))

    async def close(self) -> None:
        self._threads.shutdown()
        while not self._idle.empty():
            self._idle.get().connection.close()

    async def _run(self, sql: str, parameters: Row) -> list[Row]:
        asked = asyncio.get_running_loop().run_in_executor
        if self._keeper is None:
            return await asked(self._threads, self._answer, sql, parameters)
        self._keeper.require_complete()
        rebuilds = self._keeper.rebuilds
        try:
            rows = await asked(self._threads, self._answer, sql, parameters)
        except UnusableIndex as error:
            raise self._keeper.rebuild(error) from error
        if rebuilds != self._keeper.rebuilds:  # the result may be from an index that was not complete yet
            return await self._run(sql, parameters)
        return rows

    def _answer(self, sql: str, parameters: Row) -> list[Row]:
        opened = self._take()
        try:
            with report_damage(self._path):
                rows = opened.connection.execute(sql, parameters).fetchall()
            require_checksums(self._path, opened.connection)
        except apsw.BusyError:
            raise Unavailable("network.busy", "The index is busy; try again in a second") from None
        except apsw.IOError as error:
            detail = f"The index {self._path} cannot be read ({error}); check its disk"
            raise Unavailable("storage.failed", detail, retry_after_s=60) from error
        finally:
            self._idle.put(opened)
        return rows

    def _take(self) -> _Opened:
        """A connection to the file that has the index's name now."""
        while True:
            try:
                opened = self._idle.get_nowait()
            except queue.Empty:
                return _Opened(open_reader(self._path), self._file())
            if opened.file == self._file():
                return opened
            opened.connection.close()

    def _file(self) -> tuple[int, int]:
        try:
            found = os.stat(self._path)
        except FileNotFoundError:
            raise Unavailable(
                "network.unavailable", f"Index {self._path} does not exist; it is being rebuilt"
            ) from None
        return found.st_dev, found.st_ino


class SqliteIndex(SqliteReader):
    """Writer and reader in one process, as an ``Index``: for tools, tests and rebuilding."""

    def __init__(self, path: Path, threads: int = READERS) -> None:
        self._writer = SqliteWriter(path)
        super().__init__(path, threads)

    async def apply(self, changes: Changes, head: JournalHead, after: int = 0) -> None:
        if after:
            require_no_gap((await self.position()).seq, after)
        self._writer.apply(changes, head)

    async def clear(self) -> None:
        self._writer.clear()

    def settle(self) -> None:
        self._writer.settle()

    async def close(self) -> None:
        await super().close()
        self._writer.close()
