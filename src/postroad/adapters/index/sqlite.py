"""The index in a SQLite file: a writer for the process that follows the journal, readers for the one that answers.

Kept rule: one writer. It works on the thread that calls it, because a thread that steps through rows beside a busy event loop
waits for the interpreter's lock at every row; in the server it therefore lives in a process of its own
(``postroad.adapters.index.process``). Queries run in a few threads, so a long one never holds up the event loop.
"""

from __future__ import annotations

import asyncio
import queue
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw

from postroad.adapters.index.folding import first_hand_outs, fold
from postroad.adapters.index.gaps import require_no_gap
from postroad.adapters.index.headers import completed_answer, completed_table
from postroad.adapters.index.keys import KEYS
from postroad.adapters.index.layout import (
    DATABASE_STATEMENTS,
    DATABASE_TABLES,
    NOTHING_APPLIED,
    ServiceNumbers,
    activity,
    stored,
)
from postroad.adapters.index.named_sql import named, whole_table
from postroad.adapters.index.sqlite_file import DAMAGE, damaged, open_reader, open_writer, writing
from postroad.core.projection.tables import Changes
from postroad.errors import Unavailable
from postroad.ports import Head

READERS = 2

Row = tuple[Any, ...]


class SqliteWriter:
    """Applies changes, each batch in one transaction. Belongs to one thread."""

    def __init__(self, path: Path) -> None:
        self._connection = open_writer(path)
        self._statements = named("statements.sql", "sqlite")
        self._queries = named("queries.sql", "sqlite")
        self._numbers = ServiceNumbers()

    def position(self) -> Head:
        seq, chain = self._connection.execute(self._queries["position"]).get
        return Head(seq, chain)

    def apply(self, changes: Changes, head: Head) -> None:
        with writing(self._connection):
            self._know_services()
            changes = fold(changes, self.position().seq)
            for name in DATABASE_STATEMENTS:
                if rows := changes.get(name):
                    self._run(name, stored(name, rows, self._numbers))
            self._connection.executemany(self._statements["insert_activity"], activity(changes, self._numbers))
            self._connection.executemany(self._statements["insert_service"], self._numbers.take_new())
            self._connection.execute(self._statements["move_position"], head)

    def clear(self) -> None:
        with writing(self._connection):
            for table in DATABASE_TABLES:
                self._connection.execute(f"DELETE FROM {table}")  # noqa: S608 - a name from TABLES
            self._connection.execute(self._statements["reset_position"], NOTHING_APPLIED)

    def close(self) -> None:
        self._connection.close()

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


class SqliteReader:
    """Answers queries from threads of its own, each with a read-only connection that is opened when first needed."""

    def __init__(self, path: Path, threads: int = READERS) -> None:
        self._path = path
        self._queries = named("queries.sql", "sqlite")
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="index-reader")
        self._idle: queue.SimpleQueue[apsw.Connection] = queue.SimpleQueue()

    async def position(self) -> Head:
        [(seq, chain)] = await self.query("position")
        return Head(seq, chain)

    async def query(self, name: str, *parameters: Any) -> list[Row]:
        return completed_answer(name, await self._run(self._queries[name], parameters))

    async def rows(self, table: str) -> list[Row]:
        return completed_table(table, await self._run(whole_table(table, KEYS[table]), ()))

    async def close(self) -> None:
        self._threads.shutdown()
        while not self._idle.empty():
            self._idle.get().close()

    async def _run(self, sql: str, parameters: Row) -> list[Row]:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, sql, parameters)

    def _answer(self, sql: str, parameters: Row) -> list[Row]:
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = open_reader(self._path)
        try:
            return connection.execute(sql, parameters).fetchall()
        except apsw.BusyError:
            raise Unavailable("network.busy", "The index is busy; try again in a second") from None
        except (*DAMAGE, apsw.IOError) as error:
            raise _unreadable(error) from error
        finally:
            self._idle.put(connection)


def _unreadable(error: apsw.Error) -> Unavailable:
    detail = (
        f"The index cannot be read ({error}); stop the server and run `postroad index rebuild`; nothing is lost by it"
    )
    return Unavailable("storage.damaged", detail, retry_after_s=60)


class SqliteIndex(SqliteReader):
    """Both in one process, as the ``Index`` port wants it: for tools, tests and rebuilding."""

    def __init__(self, path: Path, threads: int = READERS) -> None:
        self._writer = SqliteWriter(path)
        super().__init__(path, threads)

    async def apply(self, changes: Changes, head: Head, after: int = 0) -> None:
        if after:
            require_no_gap((await self.position()).seq, after)
        try:
            self._writer.apply(changes, head)
        except DAMAGE as error:
            raise damaged(self._path, error) from error

    async def clear(self) -> None:
        self._writer.clear()

    async def close(self) -> None:
        await super().close()
        self._writer.close()
