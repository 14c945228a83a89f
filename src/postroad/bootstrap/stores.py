"""The stores of a network: journal, index, desk and what follows them, by the settings.

acceptance local:   segment files → SQLite (kept by the index process) or PostgreSQL index → local desk
acceptance shared:  PostgreSQL journal → PostgreSQL index → shared desk
index memory:       everything in memory, for tests and experiments
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import Protocol

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.desk.shared import SharedDesk
from postroad.adapters.index.followed_index import PATIENCE_S, FollowedIndex
from postroad.adapters.index.leadership import PostgresLeadership
from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.process import IndexProcess
from postroad.adapters.index.sqlite import SqliteReader
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import RealFiles, SegmentJournal, SegmentSettings
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.adapters.nodes.own import LoneNode, describe_own_node, load_node_id
from postroad.adapters.nodes.postgres import PostgresNodes
from postroad.bootstrap.fatal_stop import FatalStop
from postroad.bootstrap.followers import CommitAnnouncements, open_cursors
from postroad.bootstrap.settings import Settings
from postroad.core.metrics.registry import Metrics
from postroad.flow.stages.expire import is_always_leader
from postroad.ports import (
    Clock,
    Desk,
    FollowerCursors,
    Index,
    IndexReader,
    Journal,
    NodeRegistry,
)

INDEX_FILE = "index.sqlite"
JOURNAL_FOLDER = "journal"


class IndexUpdater(Protocol):
    """Updates an index from its journal."""

    def notify(self, seq: int) -> None: ...

    async def wait_for(self, seq: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The open stores of a network."""

    journal: Journal
    index: IndexReader
    keeper: IndexUpdater
    desk: Desk
    cursors: FollowerCursors  # of followers
    commits: CommitAnnouncements
    leads: Callable[[], Awaitable[bool]] = is_always_leader  # whether this node is the leader
    require_ready: Callable[[], None] = lambda: None  # raises Unavailable while journal or index do not work
    nodes: NodeRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreTerms:
    """What all stores are opened with."""

    settings: Settings
    clock: Clock
    stack: AsyncExitStack  # closes them
    metrics: Metrics
    stopping: FatalStop


async def open_store(terms: StoreTerms) -> Store:
    """Open the stores by the settings; they are closed with ``terms.stack``."""
    settings, stack = terms.settings, terms.stack
    if settings.acceptance == "shared":
        return await _open_shared(terms)
    if settings.index == "memory":
        return await _open_local(terms, MemoryJournal(), MemoryIndex())
    RealFiles().make_directory(settings.data)
    sizes = SegmentSettings(segment_bytes=settings.segment_bytes, least_free_bytes=settings.least_free_bytes)
    journal = SegmentJournal.open(settings.data / JOURNAL_FOLDER, sizes, metrics=terms.metrics)
    stack.push_async_callback(journal.close)
    if settings.index == "postgres":
        index = await PostgresIndex.open(settings.postgres)
        stack.push_async_callback(index.close)
        store = await _open_local(terms, journal, index)
        return replace(store, require_ready=journal.require_writable)
    return await _open_embedded(terms, journal)


async def _open_embedded(terms: StoreTerms, journal: SegmentJournal) -> Store:
    settings, stack = terms.settings, terms.stack
    keeper = IndexProcess(settings.data / JOURNAL_FOLDER, settings.data / INDEX_FILE, terms.metrics)
    await keeper.start()
    stack.push_async_callback(keeper.stop)
    await keeper.wait_for((await journal.head()).seq, None)
    index = SqliteReader(settings.data / INDEX_FILE, keeper=keeper)
    stack.push_async_callback(index.close)
    store = await _with_local_desk(terms, journal, index, keeper)

    def require_ready() -> None:
        journal.require_writable()
        keeper.require_running()

    return replace(store, require_ready=require_ready)


async def _open_local(terms: StoreTerms, journal: Journal, index: Index) -> Store:
    keeper = FollowedIndex(journal, index, patience_s=0.0 if isinstance(index, MemoryIndex) else PATIENCE_S)
    await keeper.start()
    terms.stack.push_async_callback(keeper.stop)
    return await _with_local_desk(terms, journal, index, keeper)


async def _with_local_desk(terms: StoreTerms, journal: Journal, index: IndexReader, keeper: IndexUpdater) -> Store:
    settings, clock = terms.settings, terms.clock
    commits = CommitAnnouncements(keeper.notify)
    desk = LocalDesk(
        journal,
        index,
        clock,
        wait_for_entry=keeper.wait_for,
        attempts_most=settings.attempts_most,
        on_committed=commits.notify,
        metrics=terms.metrics,
    )
    await desk.open()
    terms.stack.push_async_callback(desk.close)
    return Store(
        journal=journal,
        index=index,
        keeper=keeper,
        desk=desk,
        cursors=await open_cursors(settings),
        commits=commits,
        nodes=LoneNode(clock.now_us),
    )


async def _open_shared(terms: StoreTerms) -> Store:
    settings, clock, stack = terms.settings, terms.clock, terms.stack
    nodes = await PostgresNodes.open(settings.postgres, describe_own_node(load_node_id(settings.data)))
    stack.push_async_callback(nodes.close)
    await nodes.require_readable_level()
    journal = await PostgresJournal.open(settings.postgres)
    stack.push_async_callback(journal.close)
    index = await PostgresIndex.open(settings.postgres)
    stack.push_async_callback(index.close)
    leadership = PostgresLeadership(settings.postgres)
    stack.push_async_callback(leadership.close)
    keeper = FollowedIndex(journal, index, leadership.acquire, patience_s=PATIENCE_S, on_unreadable=terms.stopping.stop)
    await keeper.start()
    stack.push_async_callback(keeper.stop)
    cursors = await open_cursors(settings)
    stack.push_async_callback(cursors.close)
    commits = CommitAnnouncements(keeper.notify)
    desk = SharedDesk(
        journal,
        index,
        clock,
        wait_for_entry=keeper.wait_for,
        attempts_most=settings.attempts_most,
        on_committed=commits.notify,
        metrics=terms.metrics,
    )
    await desk.open()
    stack.push_async_callback(desk.close)
    return Store(
        journal=journal,
        index=index,
        keeper=keeper,
        desk=desk,
        cursors=cursors,
        commits=commits,
        leads=leadership.acquire,
        nodes=nodes,
    )
