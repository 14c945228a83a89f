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
from postroad.adapters.memory_gauge import ProcessMemory
from postroad.adapters.nodes.own import LoneNode, describe_own_node, load_node_id
from postroad.adapters.nodes.postgres import PostgresNodes
from postroad.adapters.passwords import Argon2Passwords
from postroad.adapters.system import SystemClock, SystemRandomness
from postroad.bootstrap.as2 import build_as2_partners, open_as2_endpoint
from postroad.bootstrap.expiry_warnings import warn_of_expiry
from postroad.bootstrap.fatal_stop import FatalStop
from postroad.bootstrap.first_start import ensure_operator, ensure_own_service, load_token_key
from postroad.bootstrap.followers import CommitAnnouncements, open_cursors
from postroad.bootstrap.gauges import NetworkGauges, measure_loop_lag, watch_process
from postroad.bootstrap.hosted_services import host_services
from postroad.bootstrap.housekeeping import drop_old_bodies, follow_directory
from postroad.bootstrap.notifications import start_notifications
from postroad.bootstrap.optional_gauges import list_optional_gauges, watch_memory
from postroad.bootstrap.own_address import OwnAddress
from postroad.bootstrap.pushes import start_pushing
from postroad.bootstrap.queried_gauges import QueriedGauges
from postroad.bootstrap.secrets import open_operator_secrets, open_token_ring, open_vault
from postroad.bootstrap.settings import Settings
from postroad.bootstrap.tracing import TracingProcess, build_job, start_tracing
from postroad.core.configuration.document import DocumentError
from postroad.core.metrics.registry import Metrics
from postroad.core.model.asset import AssetDraft
from postroad.core.model.directory import OrganizationLimits
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.as2.endpoint import As2Gateway
from postroad.flow.batching.stage import BatchStage
from postroad.flow.concurrency.memory_watermark import MemoryWatermark
from postroad.flow.network import Network
from postroad.flow.registries.network_secrets import NetworkSecrets
from postroad.flow.stages.body_reader import BodyReader
from postroad.flow.stages.expire import LOOK_AGAIN_S, is_always_leader
from postroad.flow.stages.full_recipients import COUNT_AGAIN_S
from postroad.ports import (
    Clock,
    Desk,
    FollowerCursors,
    Index,
    IndexReader,
    Journal,
    MemoryGauge,
    NodeRegistry,
    Passwords,
    Randomness,
    Secrets,
)
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
    nodes: NodeRegistry
    stopping: FatalStop  # an error that this process cannot continue after
    memory: MemoryWatermark
    gauges: QueriedGauges  # to compute before a metrics page; ``network.metrics`` has the metrics
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
    nodes: NodeRegistry


@asynccontextmanager
async def open_network(
    settings: Settings,
    *,
    clock: Clock | None = None,
    randomness: Randomness | None = None,
    passwords: Passwords | None = None,
    memory: MemoryGauge | None = None,
) -> AsyncIterator[RunningNetwork]:
    """Open a network that is ready to serve; it is closed at the end of the block."""
    clock = clock or SystemClock()
    randomness = randomness or SystemRandomness()
    passwords = passwords or Argon2Passwords()
    async with AsyncExitStack() as stack:
        metrics = Metrics()
        stopping = FatalStop()
        store = await _open_store(settings, clock, stack, metrics, stopping)
        token_key = load_token_key(settings.data, settings.secret)
        network = Network(
            desk=store.desk,
            journal=store.journal,
            index=store.index,
            clock=clock,
            randomness=randomness,
            token_key=token_key,
            wait_until_indexed=_index_waiter(store),
            limits=OrganizationLimits(stored_bytes=settings.stored_bytes, queued_messages=settings.queued_messages),
            waiting_most=settings.waiting_most,
            standards=load_catalogue(),
            metrics=metrics,
        )
        await network.configuration.load()
        network.vault = await open_vault(settings, network, stack)
        network.token_keys = await open_token_ring(settings, network, token_key, store.leads)
        secrets = NetworkSecrets(open_operator_secrets(settings), network.vault)
        await network.quota.open()
        stack.push_async_callback(network.quota.close)
        operator_key = await ensure_operator(network, settings.data)
        network.configuration.settle_level()
        await ensure_own_service(network)
        _start_housekeeping(settings, network, store, secrets, stack, stopping)
        engines = host_services(settings, network, stack)
        start_batchers(settings, network, store.leads, stack)
        tracing = None
        if settings.traces_to:
            job = build_job(settings, JOURNAL_FOLDER, INDEX_FILE)
            tracing = await start_tracing(settings, job, network, store, stack)
        own_address = OwnAddress(settings)
        partners = build_as2_partners(secrets, own_address)
        pusher = start_pushing(settings, network, secrets, partners, stack)
        await start_notifications(
            settings, network, store, pusher=pusher, secrets=secrets, own=own_address, stack=stack
        )
        yield RunningNetwork(
            network=network,
            authenticator=Authenticator(
                network.configuration.directory, passwords, clock, settings.registrations_per_day, metrics
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
            nodes=store.nodes,
            stopping=stopping,
            memory=_open_watermark(settings, network, memory or ProcessMemory()),
            gauges=_open_gauges(settings, network, store, stack),
            tracing=tracing,
        )


def _open_watermark(settings: Settings, network: Network, gauge: MemoryGauge) -> MemoryWatermark:
    memory = MemoryWatermark(gauge, settings.memory_most_share, network.clock)
    watch_memory(network.metrics, memory)
    return memory


def _open_gauges(settings: Settings, network: Network, store: Store, stack: AsyncExitStack) -> QueriedGauges:
    watch_process(network.metrics)
    others = list_optional_gauges(settings, network, store)
    gauges = NetworkGauges(network, store.leads, settings.metrics_services).queried(others)
    stack.push_async_callback(gauges.close)
    return gauges


def _start_housekeeping(
    settings: Settings,
    network: Network,
    store: Store,
    secrets: Secrets,
    stack: AsyncExitStack,
    stopping: FatalStop,
) -> None:
    tasks: list[Coroutine[Any, Any, None]] = [warn_of_expiry(network, settings, secrets)]
    if network.token_keys is not None:
        tasks.append(network.token_keys.run())
    if settings.acceptance == "shared":
        tasks.append(follow_directory(network, stopping.stop))
        tasks.append(network.expiry.run(store.leads, LOOK_AGAIN_S))
    else:
        tasks.append(network.expiry.run())
    tasks.append(network.clock_steps.run())
    tasks.append(network.pace.run())
    tasks.append(network.full_recipients.run(COUNT_AGAIN_S if settings.acceptance == "shared" else None))
    tasks.append(measure_loop_lag(network.metrics, network.clock))
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


async def _open_store(
    settings: Settings, clock: Clock, stack: AsyncExitStack, metrics: Metrics, stopping: FatalStop
) -> Store:
    if settings.acceptance == "shared":
        return await _open_shared(settings, clock, stack, metrics, stopping)
    if settings.index == "memory":
        return await _open_local(settings, clock, stack, MemoryJournal(), MemoryIndex(), metrics)
    RealFiles().make_directory(settings.data)
    sizes = SegmentSettings(segment_bytes=settings.segment_bytes, least_free_bytes=settings.least_free_bytes)
    journal = SegmentJournal.open(settings.data / JOURNAL_FOLDER, sizes, metrics=metrics)
    stack.push_async_callback(journal.close)
    if settings.index == "postgres":
        index = await PostgresIndex.open(settings.postgres)
        stack.push_async_callback(index.close)
        return await _open_local(settings, clock, stack, journal, index, metrics)
    return await _open_embedded(settings, clock, stack, journal, metrics)


async def _open_embedded(
    settings: Settings, clock: Clock, stack: AsyncExitStack, journal: SegmentJournal, metrics: Metrics
) -> Store:
    keeper = IndexProcess(settings.data / JOURNAL_FOLDER, settings.data / INDEX_FILE, metrics)
    await keeper.start()
    stack.push_async_callback(keeper.stop)
    await keeper.wait_for((await journal.head()).seq, None)
    index = SqliteReader(settings.data / INDEX_FILE, keeper=keeper)
    stack.push_async_callback(index.close)
    store = await _with_local_desk(settings, clock, stack, journal=journal, index=index, keeper=keeper, metrics=metrics)
    return replace(store, require_index=keeper.require_running)


async def _open_local(
    settings: Settings, clock: Clock, stack: AsyncExitStack, journal: Journal, index: Index, metrics: Metrics
) -> Store:
    keeper = FollowedIndex(journal, index, patience_s=0.0 if isinstance(index, MemoryIndex) else PATIENCE_S)
    await keeper.start()
    stack.push_async_callback(keeper.stop)
    return await _with_local_desk(settings, clock, stack, journal=journal, index=index, keeper=keeper, metrics=metrics)


async def _with_local_desk(
    settings: Settings,
    clock: Clock,
    stack: AsyncExitStack,
    *,
    journal: Journal,
    index: IndexReader,
    keeper: IndexUpdater,
    metrics: Metrics,
) -> Store:
    commits = CommitAnnouncements(keeper.notify)
    desk = LocalDesk(
        journal,
        index,
        clock,
        wait_for_entry=keeper.wait_for,
        attempts_most=settings.attempts_most,
        on_committed=commits.notify,
        metrics=metrics,
    )
    await desk.open()
    stack.push_async_callback(desk.close)
    return Store(
        journal=journal,
        index=index,
        keeper=keeper,
        desk=desk,
        cursors=await open_cursors(settings),
        commits=commits,
        nodes=LoneNode(clock.now_us),
    )


async def _open_shared(
    settings: Settings, clock: Clock, stack: AsyncExitStack, metrics: Metrics, stopping: FatalStop
) -> Store:
    nodes = await PostgresNodes.open(settings.postgres, describe_own_node(load_node_id(settings.data)))
    stack.push_async_callback(nodes.close)
    await nodes.require_readable_level()
    journal = await PostgresJournal.open(settings.postgres)
    stack.push_async_callback(journal.close)
    index = await PostgresIndex.open(settings.postgres)
    stack.push_async_callback(index.close)
    leadership = PostgresLeadership(settings.postgres)
    stack.push_async_callback(leadership.close)
    keeper = FollowedIndex(journal, index, leadership.held, patience_s=PATIENCE_S, on_unreadable=stopping.stop)
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
        metrics=metrics,
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
        nodes=nodes,
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
