"""Access to a network's journal and index on this machine: read only, or with the server stopped.

Rule: nothing here writes where a running server writes. Commands that must write take the journal's lock first, and
otherwise report who holds it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterator

from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteIndex, SqliteReader
from postroad.adapters.index.sqlite_file import remove_index
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import RealFiles, SegmentReader
from postroad.adapters.journal.segments.catalog import LOCK_NAME
from postroad.bootstrap.settings import Settings
from postroad.bootstrap.stores import INDEX_FILE, JOURNAL_FOLDER
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from postroad.flow.indexing import JournalSource
from postroad.flow.registries.configuration import decode_directory_rows
from postroad.ports import Index, IndexReader, JournalHead

IN_MEMORY = "index = memory stores nothing; choose sqlite or postgres"


def is_shared(settings: Settings) -> bool:
    return settings.acceptance == "shared"


@contextlib.asynccontextmanager
async def open_journal(settings: Settings) -> AsyncIterator[JournalSource]:
    _refuse_memory(settings)
    if is_shared(settings):
        journal = await PostgresJournal.open(settings.postgres)
        try:
            yield journal
        finally:
            await journal.close()
        return
    reader = SegmentReader(settings.data / JOURNAL_FOLDER)
    try:
        yield reader
    finally:
        reader.close()


@contextlib.asynccontextmanager
async def open_index_for_rebuild(settings: Settings) -> AsyncIterator[Index]:
    """Open the index for a rebuild; its server must not run."""
    _refuse_memory(settings)
    with contextlib.nullcontext() if is_shared(settings) else lock_journal(settings):
        index: Index
        if settings.index == "postgres":
            index = await PostgresIndex.open(settings.postgres)
        else:
            remove_index(settings.data / INDEX_FILE)  # it may be damaged, which is why it is rebuilt
            index = SqliteIndex(settings.data / INDEX_FILE)
        try:
            yield index
        finally:
            await index.close()


@contextlib.contextmanager
def lock_journal(settings: Settings) -> Iterator[None]:
    try:
        lock = RealFiles().lock(settings.data / JOURNAL_FOLDER / LOCK_NAME)
    except BlockingIOError:
        raise Misconfigured([f"a server is running on {settings.data}; stop it first"]) from None
    except FileNotFoundError:
        raise Misconfigured([f"there is no network in {settings.data}; use --data for another folder"]) from None
    try:
        yield
    finally:
        os.close(lock)


def is_served(settings: Settings) -> bool:
    """Return True if a server runs on this data folder."""
    try:
        with lock_journal(settings):
            return False
    except Misconfigured:
        return (settings.data / JOURNAL_FOLDER / LOCK_NAME).exists()


async def read_journal_head(journal: JournalSource) -> JournalHead:
    """Return the journal's last entry number and its chain value."""
    if isinstance(journal, PostgresJournal | SegmentReader):
        return await journal.head()
    raise TypeError(f"{type(journal).__name__} is not one of the journals")


async def read_index_position(settings: Settings) -> JournalHead | None:
    """Return the index's position, or None when there is no index."""
    _refuse_memory(settings)
    if settings.index == "postgres":
        index = await PostgresIndex.open(settings.postgres)
        try:
            return await index.position()
        finally:
            await index.close()
    if not (settings.data / INDEX_FILE).exists():
        return None
    reader = SqliteReader(settings.data / INDEX_FILE, threads=1)
    try:
        return await reader.position()
    finally:
        await reader.close()


async def load_directory(settings: Settings) -> Directory:
    """Load the directory as of the index's position; empty when there is no index."""
    _refuse_memory(settings)
    index: IndexReader
    if settings.index == "postgres":
        index = await PostgresIndex.open(settings.postgres)
    elif (settings.data / INDEX_FILE).exists():
        index = SqliteReader(settings.data / INDEX_FILE, threads=1)
    else:
        return Directory()
    try:
        return decode_directory_rows(await index.query("objects"))
    finally:
        await index.close()


def _refuse_memory(settings: Settings) -> None:
    if settings.index == "memory":
        raise Misconfigured([IN_MEMORY])
