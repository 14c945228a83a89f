"""Page checksums of a SQLite index: SQLite's own checksum VFS, loaded from the extensions that apsw brings.

Rule: a page whose checksum does not match is never used. SQLite reports it as ``SQLITE_IOERR_DATA``, and the index is rebuilt
from the journal. The checksums are those of the database file; ``sqlite_checkpoint`` guards the write-ahead log. Whether a file
has checksums is one byte of its header, and damage to that byte would switch them off. Therefore each query asks afterwards
whether they were on.
"""

from __future__ import annotations

import threading

import apsw
from apsw import sqlite_extra

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
    """Whether the error says that the file does not contain what was written to it."""
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
