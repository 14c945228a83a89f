"""Opens SQLite index files: checks the library's version, sets connection options, page checksums and schema.

Rule: the file can always be rebuilt from the journal, so a commit need not reach the disk before it is answered
(``synchronous=NORMAL``); after a power cut the index is some entries behind, never wrong. A file that is damaged, or that an
earlier version wrote without page checksums, raises ``UnusableIndex``; the server then rebuilds it.

Page checksums are those of SQLite's own checksum VFS, loaded from the extensions that apsw brings. A page whose checksum does
not match is never used: SQLite reports it as ``SQLITE_IOERR_DATA``. The checksums are those of the database file;
``sqlite_checkpoint`` guards the write-ahead log. Whether a file has checksums is one byte of its header, and damage to that
byte would switch them off. Therefore each query asks afterwards whether they were on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
from apsw import sqlite_extra

from postroad.adapters.index.migrations import VERSION_TABLE, Migration, list_pending
from postroad.adapters.index.sqlite_checkpoint import NOTE_SUFFIX, DamagedLog, lost_frames
from postroad.errors import Misconfigured

EXTENSION = "cksumvfs"
VFS = "cksmvfs"
CHECKSUM_BYTES = 8  # reserved at the end of each page

_loading = threading.Lock()


def checksum_vfs() -> str:
    """Register the checksum VFS in this process, once, and return its name."""
    with _loading:
        names = apsw.vfs_names()
        if VFS not in names:
            _load()
            apsw.set_default_vfs(names[0])  # only the index asks for it, by name
    return VFS


def verifies_checksums(connection: apsw.Connection) -> bool:
    """Whether the checksum of each page that this connection reads is checked."""
    return str(connection.pragma("checksum_verification")) == "1"


def is_damage(error: apsw.Error) -> bool:
    """Return True if the error means that the file does not contain what was written to it."""
    if isinstance(error, apsw.IOError):
        code = getattr(error, "extendedresult", 0)
        return code in (apsw.SQLITE_IOERR_DATA, apsw.SQLITE_IOERR_CORRUPTFS)
    return isinstance(error, apsw.CorruptError | apsw.NotADBError)


def _load() -> None:
    if not sqlite_extra.has(EXTENSION):
        raise Misconfigured(
            [
                f"index: apsw {apsw.apsw_version()} does not include the SQLite extension {EXTENSION}, which detects damaged "
                "pages; install apsw from its binary package on PyPI"
            ]
        )
    connection = apsw.Connection(":memory:")
    try:
        sqlite_extra.load(connection, EXTENSION)
    finally:
        connection.close()


OLDEST_SQLITE = (3, 51, 3)  # before it, resetting the write-ahead log could corrupt the database
BUSY_TIMEOUT_MS = 10_000
MODE = 0o640  # like the journal's files, because it contains message headers; its log gets the same mode


class UnusableIndex(Misconfigured):
    """The file is damaged or has no checksums, and must be rebuilt from the journal."""


class OutdatedIndex(Misconfigured):
    """An earlier version wrote the file; the process that writes it migrates it when it starts."""


def open_writer(path: Path) -> apsw.Connection:
    """Open the only connection that changes the index, and update its schema."""
    refuse_old_sqlite(apsw.sqlite_lib_version())
    with suppress(OSError):  # SQLite reports it
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, MODE))
    with _opened(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) as connection:
        is_new = not path.stat().st_size
        if is_new:
            connection.reserve_bytes("main", CHECKSUM_BYTES)
        connection.pragma(
            "page_size", 16_384
        )  # heeded only while the file is empty; a page in the log costs two writes
        if lost := lost_frames(path, connection):
            raise damaged_index(path, lost)
        connection.pragma("journal_mode", "wal")
        if not is_new:
            require_checksums(path, connection)
        connection.pragma("synchronous", "normal")
        connection.pragma("cache_size", -65_536)  # KiB
        connection.pragma("wal_autocheckpoint", 0)  # ``Checkpoints`` takes them
        connection.pragma("journal_size_limit", 128 << 20)
        migrate(connection, path)
        return connection


def open_reader(path: Path) -> apsw.Connection:
    """Open a connection for queries only; several may be open beside the writer, in any process."""
    refuse_old_sqlite(apsw.sqlite_lib_version())
    with _opened(path, apsw.SQLITE_OPEN_READONLY) as connection:
        connection.pragma("query_only", 1)
        behind = list_pending(schema_version(connection), str(path))
        require_checksums(path, connection)
        if behind:
            raise OutdatedIndex(
                [f"index {path}: its schema lacks migration {behind[0].version}; the server adds it when it starts"]
            )
        return connection


def require_checksums(path: Path, connection: apsw.Connection) -> None:
    """Refuse a file whose pages have no checksums. Call after something was read through the connection."""
    if verifies_checksums(connection):
        return
    raise UnusableIndex(
        [
            f"index {path}: its pages have no checksums, because an earlier version wrote it or because it is damaged; nothing "
            "is lost: the server rebuilds it from the journal when it starts, and so does `postroad index rebuild`"
        ]
    )


@contextmanager
def report_damage(path: Path) -> Iterator[None]:
    """Turn errors that mean damage into ``UnusableIndex``."""
    try:
        yield
    except DamagedLog as error:
        raise damaged_index(path, str(error)) from error
    except apsw.Error as error:
        if is_damage(error):
            raise damaged_index(path, str(error)) from error
        raise


def damaged_index(path: Path, what: str) -> UnusableIndex:
    return UnusableIndex(
        [
            f"index {path}: the file is damaged ({what}); nothing is lost: the server rebuilds it from the journal when it "
            "starts, and so does `postroad index rebuild`"
        ]
    )


def check_file(path: Path) -> None:
    """Read every page of the index and check its checksum and structure; raises UnusableIndex."""
    connection = open_reader(path)
    try:
        with report_damage(path):
            found = connection.execute("PRAGMA quick_check(1)").get
        if found != "ok":
            raise damaged_index(path, str(found))
        require_checksums(path, connection)
    finally:
        connection.close()


def remove_index(path: Path) -> None:
    """Remove an index that is to be rebuilt, in any state; it must not have a writer."""
    for suffix in ("", "-wal", "-shm", NOTE_SUFFIX):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def migrate(connection: apsw.Connection, path: Path) -> None:
    """Bring the schema up to date; a second caller waits for the write lock and finds nothing to do."""
    with write_transaction(connection):
        connection.execute(VERSION_TABLE)
        for migration in list_pending(schema_version(connection), str(path)):
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
def write_transaction(connection: apsw.Connection) -> Iterator[None]:
    """A transaction that holds the write lock from its beginning."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite itself has rolled back after some errors, a full disk for one
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[apsw.Connection]:
    """A connection that is closed again if it cannot be made ready."""
    try:
        connection = apsw.Connection(str(path), flags=flags, vfs=checksum_vfs())
    except apsw.CantOpenError:
        raise Misconfigured(
            [f"index {path}: the file cannot be opened; check that its folder exists and is writable"]
        ) from None
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    try:
        with report_damage(path):
            yield connection
    except BaseException:
        connection.close()
        raise
