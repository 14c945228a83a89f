"""Opening a SQLite index: the library's version, the connection's settings, and the schema.

Kept rule: the file can always be rebuilt from the journal, so a commit need not reach the disk before it is answered
(``synchronous=NORMAL``); after a power cut the index is merely some entries behind, never wrong.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from postroad.adapters.index.migrations import VERSION_TABLE, Migration, pending
from postroad.errors import Misconfigured

OLDEST_SQLITE = (3, 51, 3)  # before it, resetting the write-ahead log could corrupt the database
BUSY_TIMEOUT_MS = 10_000
MODE = 0o640  # like the journal's files: headers of messages are in it; its log takes after it
DAMAGE = (apsw.CorruptError, apsw.NotADBError)


def open_writer(path: Path) -> apsw.Connection:
    """The one connection that changes the index; brings its schema up to date."""
    refuse_old_sqlite(apsw.sqlite_lib_version())
    with suppress(OSError):  # SQLite will say it
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, MODE))
    connection = _opened(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    try:
        connection.pragma(
            "page_size", 16_384
        )  # heeded only while the file is empty; a page in the log costs two writes
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "normal")
        connection.pragma("cache_size", -65_536)  # KiB
        connection.pragma("wal_autocheckpoint", 4_000)  # pages: fewer copies of the pages that every batch changes
        connection.pragma("journal_size_limit", 128 << 20)
        migrate(connection, path)
    except DAMAGE as error:
        connection.close()
        raise damaged(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: Path) -> apsw.Connection:
    """A connection for queries only; several may be open beside the writer, in any process."""
    refuse_old_sqlite(apsw.sqlite_lib_version())
    connection = _opened(path, apsw.SQLITE_OPEN_READONLY)
    try:
        connection.pragma("query_only", 1)
        if behind := pending(schema_version(connection), str(path)):
            raise Misconfigured(
                [
                    f"index {path}: its schema lacks migration {behind[0].version}; start the process that writes it first"
                ]
            )
    except DAMAGE as error:
        connection.close()
        raise damaged(path, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def damaged(path: Path, error: apsw.Error) -> Misconfigured:
    return Misconfigured(
        [
            f"index {path}: the file is damaged ({error}); nothing is lost: stop the server and run `postroad index rebuild`, "
            "which makes it anew from the journal"
        ]
    )


def forget(path: Path) -> None:
    """Remove an index that is to be made anew, whatever state it is in; nobody may have it open."""
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Bring the schema up to date; who comes second waits for the write lock and finds nothing left to do."""
    with writing(connection):
        connection.execute(VERSION_TABLE)
        for migration in pending(schema_version(connection), str(path)):
            apply_migration(connection, migration)


def apply_migration(connection: apsw.Connection, migration: Migration) -> None:
    connection.execute(migration.script("sqlite"))
    connection.execute(
        "INSERT INTO schema_version (version, name) VALUES (?1, ?2)", (migration.version, migration.name)
    )


def schema_version(connection: apsw.Connection) -> int:
    if connection.pragma("table_info", "schema_version") is None:
        return 0
    return int(connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").get)


def refuse_old_sqlite(version: str) -> None:
    if tuple(map(int, version.split("."))) < OLDEST_SQLITE:
        raise Misconfigured(
            [
                f"SQLite {version} has a bug that can corrupt an index; install apsw {'.'.join(map(str, OLDEST_SQLITE))} "
                "or newer, which brings its own SQLite"
            ]
        )


@contextmanager
def writing(connection: apsw.Connection) -> Iterator[None]:
    """A transaction that holds the write lock from its beginning."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself has rolled back after some errors, a full disk for one
            connection.execute("ROLLBACK")
        raise


def _opened(path: Path, flags: int) -> apsw.Connection:
    try:
        connection = apsw.Connection(str(path), flags=flags)
    except apsw.CantOpenError:
        raise Misconfigured(
            [f"index {path}: the file cannot be opened; check that its folder exists and is yours"]
        ) from None
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    return connection
