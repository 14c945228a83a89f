"""Reaching a network's journal and index beside its server: read only, or with the server stopped.

Kept rule: nothing here writes where a running server writes. What must write takes the journal's lock first, and says who holds
it otherwise.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Iterator

from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteIndex, SqliteReader
from postroad.adapters.index.sqlite_file import forget
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import RealFiles, SegmentReader
from postroad.adapters.journal.segments.catalog import LOCK_NAME
from postroad.bootstrap.running import INDEX_FILE, JOURNAL_FOLDER
from postroad.bootstrap.settings import Settings
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured
from postroad.flow.configure import directory_of_rows
from postroad.flow.indexing import Source
from postroad.ports import Head, Index, IndexReader

IN_MEMORY = "index = memory keeps nothing, so there is nothing to look at; choose sqlite or postgres"


def shared(settings: Settings) -> bool:
    return settings.acceptance == "shared"


@contextlib.asynccontextmanager
async def reading_journal(settings: Settings) -> AsyncIterator[Source]:
    _refuse_memory(settings)
    if shared(settings):
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
async def writing_index(settings: Settings) -> AsyncIterator[Index]:
    """The index, to be made anew: the server that keeps it must not run."""
    _refuse_memory(settings)
    with contextlib.nullcontext() if shared(settings) else locked(settings):
        index: Index
        if settings.index == "postgres":
            index = await PostgresIndex.open(settings.postgres)
        else:
            forget(settings.data / INDEX_FILE)  # it may be damaged, which is why it is made anew
            index = SqliteIndex(settings.data / INDEX_FILE)
        try:
            yield index
        finally:
            await index.close()


@contextlib.contextmanager
def locked(settings: Settings) -> Iterator[None]:
    try:
        lock = RealFiles().lock(settings.data / JOURNAL_FOLDER / LOCK_NAME)
    except BlockingIOError:
        raise Misconfigured([f"a server is running on {settings.data}; stop it first"]) from None
    except FileNotFoundError:
        raise Misconfigured([f"there is no network in {settings.data}; --data names another folder"]) from None
    try:
        yield
    finally:
        os.close(lock)


def is_served(settings: Settings) -> bool:
    """Whether a server runs on this data folder."""
    try:
        with locked(settings):
            return False
    except Misconfigured:
        return (settings.data / JOURNAL_FOLDER / LOCK_NAME).exists()


async def journal_head(journal: Source) -> Head:
    """The journal's last entry and its chain; every journal can say it, though indexing does not need it."""
    if isinstance(journal, PostgresJournal | SegmentReader):
        return await journal.head()
    raise TypeError(f"{type(journal).__name__} is not one of the journals")


async def index_position(settings: Settings) -> Head | None:
    """How far the index has come, or None when there is none yet."""
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


async def stored_directory(settings: Settings) -> Directory:
    """Who takes part, as far as the index has come; nobody when there is none yet."""
    _refuse_memory(settings)
    index: IndexReader
    if settings.index == "postgres":
        index = await PostgresIndex.open(settings.postgres)
    elif (settings.data / INDEX_FILE).exists():
        index = SqliteReader(settings.data / INDEX_FILE, threads=1)
    else:
        return Directory()
    try:
        return directory_of_rows(await index.query("objects"))
    finally:
        await index.close()


def _refuse_memory(settings: Settings) -> None:
    if settings.index == "memory":
        raise Misconfigured([IN_MEMORY])
