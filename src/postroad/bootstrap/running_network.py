"""A running network: the stores by the settings, the stages on top of them, and an orderly shutdown.

acceptance local:   segment files → SQLite (kept by the index process) or PostgreSQL index → local desk
acceptance shared:  PostgreSQL journal → PostgreSQL index → shared desk
index memory:       everything in memory, for tests and experiments

Batchers start with the network, and stop before its stores.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.desk.shared import SharedDesk
from postroad.adapters.index.followed_index import PATIENCE_S, FollowedIndex
from postroad.adapters.index.leadership import PostgresLeadership
from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.process import IndexProcess
from postroad.adapters.index.sqlite import SqliteReader
from postroad.adapters.interchange_plug_ins import load_catalogue
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.journal.segments import RealFiles, SegmentJournal, SegmentSettings
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.adapters.passwords import Argon2Passwords
from postroad.adapters.system import SystemClock, SystemRandomness
from postroad.bootstrap.as2 import build_as2_partners, open_as2_endpoint
from postroad.bootstrap.expiry_warnings import warn_of_expiry
from postroad.bootstrap.first_start import ensure_operator, ensure_own_service, load_token_key
from postroad.bootstrap.followers import CommitAnnouncements, open_cursors
from postroad.bootstrap.hosted_services import host_services
from postroad.bootstrap.housekeeping import drop_old_bodies, follow_directory
from postroad.bootstrap.own_address import OwnAddress
from postroad.bootstrap.pushes import open_operator_secrets, start_pushing
from postroad.bootstrap.settings import Settings
from postroad.bootstrap.tracing import TracingProcess, build_job, start_tracing
from postroad.core.configuration.document import DocumentError
from postroad.core.model.asset import AssetDraft
from postroad.core.model.directory import OrganizationLimits
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.as2.endpoint import As2Gateway
from postroad.flow.batching.stage import BatchStage
from postroad.flow.network import Network
from postroad.flow.stages.body_reader import BodyReader
from postroad.flow.stages.expire import LOOK_AGAIN_S, is_always_leader
from postroad.ports import Clock, Desk, FollowerCursors, Index, IndexReader, Journal, Passwords, Randomness
from postroad.services.asset_checks import find_asset_errors
from postroad.services.engines import Engines

INDEX_FILE = "index.sqlite"
JOURNAL_FOLDER = "journal"


class IndexUpdater(Protocol):
    """Updates an index from its journal."""

    def notify(self, seq: int) -> None: ...

    async def wait_for(self, seq: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningNetwork:
    """A network that is ready to serve, with its parts."""

    network: Network
    authenticator: Authenticator
    passwords: Passwords
    settings: Settings
    engines: Engines
    trials: Engines  # for trials and checks
    reader: BodyReader
    as2: As2Gateway
    own_address: OwnAddress
    operator_key: str | None  # only at the first start
    require_index: Callable[[], None]  # raises Unavailable while the index is not updated
    tracing: TracingProcess | None = None  # if traces are exported by a process of their own

    async def asset_faults(self, draft: AssetDraft) -> Sequence[DocumentError]:
        """Return all errors in an asset before it is saved."""
        return await find_asset_errors(draft, self.trials)


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
    require_index: Callable[[], None] = lambda: None  # raises Unavailable while the index is not updated


@asynccontextmanager
async def open_network(
    settings: Settings,
    *,
    clock: Clock | None = None,
    randomness: Randomness | None = None,
    passwords: Passwords | None = None,
) -> AsyncIterator[RunningNetwork]:
    """Open a network that is ready to serve; it is closed at the end of the block."""
    clock = clock or SystemClock()
    randomness = randomness or SystemRandomness()
    passwords = passwords or Argon2Passwords()
    async with AsyncExitStack() as stack:
        store = await _open_store(settings, clock, stack)
        network = Network(
            desk=store.desk,
            journal=store.journal,
            index=store.index,
            clock=clock,
            randomness=randomness,
            token_key=load_token_key(settings.data, settings.secret),
            wait_until_indexed=_index_waiter(store),
            limits=OrganizationLimits(stored_bytes=settings.stored_bytes, queued_messages=settings.queued_messages),
            standards=load_catalogue(),
        )
        await network.configuration.load()
        await network.quota.open()
        stack.push_async_callback(network.quota.close)
        operator_key = await ensure_operator(network, settings.data)
        await ensure_own_service(network)
        _start_housekeeping(settings, network, store, stack)
        engines = host_services(settings, network, stack)
        start_batchers(settings, network, store.leads, stack)
        tracing = None
        if settings.traces_to:
            job = build_job(settings, JOURNAL_FOLDER, INDEX_FILE)
            tracing = await start_tracing(settings, job, network, store, stack)
        own_address = OwnAddress(settings)
        partners = build_as2_partners(settings, own_address)
        pusher = start_pushing(settings, network, partners, stack)
        yield RunningNetwork(
            network=network,
            authenticator=Authenticator(
                network.configuration.directory, passwords, clock, settings.registrations_per_day
            ),
            passwords=passwords,
            settings=settings,
            engines=engines.live,
            trials=engines.trials,
            reader=engines.reader,
            as2=open_as2_endpoint(settings, network, partners, pusher, stack),
            own_address=own_address,
            operator_key=operator_key,
            require_index=store.require_index,
            tracing=tracing,
        )


def _start_housekeeping(settings: Settings, network: Network, store: Store, stack: AsyncExitStack) -> None:
    tasks: list[Coroutine[Any, Any, None]] = [warn_of_expiry(network, settings, open_operator_secrets(settings))]
    if settings.acceptance == "shared":
        tasks.append(follow_directory(network))
        tasks.append(network.expiry.run(store.leads, LOOK_AGAIN_S))
    else:
        tasks.append(network.expiry.run())
    tasks.append(network.clock_steps.run())
    if settings.keep_bodies_days:
        tasks.append(drop_old_bodies(network, store.journal, settings.keep_bodies_days))
    for work in tasks:
        task = asyncio.get_running_loop().create_task(work)
        stack.push_async_callback(_ended, task)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _index_waiter(store: Store) -> Callable[[], Awaitable[None]]:
    """Return a function that waits until the index has everything that is durable now."""

    async def wait_until_indexed() -> None:
        await store.keeper.wait_for((await store.journal.head()).seq)

    return wait_until_indexed


async def _open_store(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Store:
    if settings.acceptance == "shared":
        return await _open_shared(settings, clock, stack)
    if settings.index == "memory":
        return await _open_local(settings, clock, stack, MemoryJournal(), MemoryIndex())
    RealFiles().make_directory(settings.data)
    sizes = SegmentSettings(segment_bytes=settings.segment_bytes, least_free_bytes=settings.least_free_bytes)
    journal = SegmentJournal.open(settings.data / JOURNAL_FOLDER, sizes)
    stack.push_async_callback(journal.close)
    if settings.index == "postgres":
        index = await PostgresIndex.open(settings.postgres)
        stack.push_async_callback(index.close)
        return await _open_local(settings, clock, stack, journal, index)
    return await _open_embedded(settings, clock, stack, journal)


async def _open_embedded(settings: Settings, clock: Clock, stack: AsyncExitStack, journal: SegmentJournal) -> Store:
    keeper = IndexProcess(settings.data / JOURNAL_FOLDER, settings.data / INDEX_FILE)
    await keeper.start()
    stack.push_async_callback(keeper.stop)
    await keeper.wait_for((await journal.head()).seq, None)
    index = SqliteReader(settings.data / INDEX_FILE, keeper=keeper)
    stack.push_async_callback(index.close)
    store = await _with_local_desk(settings, clock, stack, journal, index, keeper)
    return replace(store, require_index=keeper.require_running)


async def _open_local(settings: Settings, clock: Clock, stack: AsyncExitStack, journal: Journal, index: Index) -> Store:
    keeper = FollowedIndex(journal, index, patience_s=0.0 if isinstance(index, MemoryIndex) else PATIENCE_S)
    await keeper.start()
    stack.push_async_callback(keeper.stop)
    return await _with_local_desk(settings, clock, stack, journal, index, keeper)


async def _with_local_desk(
    settings: Settings, clock: Clock, stack: AsyncExitStack, journal: Journal, index: IndexReader, keeper: IndexUpdater
) -> Store:
    commits = CommitAnnouncements(keeper.notify)
    desk = LocalDesk(
        journal,
        index,
        clock,
        wait_for_entry=keeper.wait_for,
        attempts_most=settings.attempts_most,
        on_committed=commits.notify,
    )
    await desk.open()
    stack.push_async_callback(desk.close)
    cursors = await open_cursors(settings)
    return Store(journal=journal, index=index, keeper=keeper, desk=desk, cursors=cursors, commits=commits)


async def _open_shared(settings: Settings, clock: Clock, stack: AsyncExitStack) -> Store:
    journal = await PostgresJournal.open(settings.postgres)
    stack.push_async_callback(journal.close)
    index = await PostgresIndex.open(settings.postgres)
    stack.push_async_callback(index.close)
    leadership = PostgresLeadership(settings.postgres)
    stack.push_async_callback(leadership.close)
    keeper = FollowedIndex(journal, index, leadership.held, patience_s=PATIENCE_S)
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
        leads=leadership.held,
    )


def start_batchers(
    settings: Settings, network: Network, leads: Callable[[], Awaitable[bool]], stack: AsyncExitStack
) -> None:
    """Run batchers on the leader node until the stack is closed."""
    stage = BatchStage(
        network, leads=leads, message_bytes=settings.message_bytes, is_shared=settings.acceptance == "shared"
    )
    stack.push_async_callback(stage.close)
    stage.start()
