"""A running network: its stores (``stores``), the stages on top of them, and an orderly shutdown.

Batchers start with the network, and stop before its stores.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from postroad.adapters.interchange_plug_ins import load_catalogue
from postroad.adapters.memory_gauge import ProcessMemory
from postroad.adapters.passwords import Argon2Passwords
from postroad.adapters.system import SystemClock, SystemRandomness
from postroad.bootstrap.as2 import build_as2_partners, open_as2_endpoint
from postroad.bootstrap.expiry_warnings import warn_of_expiry
from postroad.bootstrap.fatal_stop import FatalStop
from postroad.bootstrap.first_start import ensure_operator, ensure_own_service, load_token_key
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
from postroad.bootstrap.stores import INDEX_FILE, JOURNAL_FOLDER, Store, StoreTerms, open_store
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
from postroad.flow.stages.expire import LOOK_AGAIN_S
from postroad.flow.stages.full_recipients import COUNT_AGAIN_S
from postroad.ports import (
    Clock,
    MemoryGauge,
    NodeRegistry,
    Passwords,
    Randomness,
    Secrets,
)
from postroad.services.asset_checks import find_asset_errors
from postroad.services.engines import Engines

log = logging.getLogger(__name__)


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
    require_ready: Callable[[], None]  # raises Unavailable while the journal is not writable or the index not updated
    nodes: NodeRegistry
    stopping: FatalStop  # an error that this process cannot continue after
    memory: MemoryWatermark
    gauges: QueriedGauges  # to compute before a metrics page; ``network.metrics`` has the metrics
    tracing: TracingProcess | None = None  # if traces are exported by a process of their own

    async def asset_faults(self, draft: AssetDraft) -> Sequence[DocumentError]:
        """Return all errors in an asset before it is saved."""
        return await find_asset_errors(draft, self.trials)


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
        store = await open_store(
            StoreTerms(settings=settings, clock=clock, stack=stack, metrics=metrics, stopping=stopping)
        )
        token_key = load_token_key(settings.data, settings.secret)
        network = _build_network(settings, store, clock, randomness, token_key, metrics)
        await network.configuration.load()
        secrets = await _open_secrets(settings, network, token_key, store, stack)
        await network.quota.open()
        stack.push_async_callback(network.quota.close)
        operator_key = await ensure_operator(network, settings.data)
        network.configuration.settle_level()
        await ensure_own_service(network)
        _start_housekeeping(settings, network, store, secrets, stack, stopping)
        engines = host_services(settings, network, stack)
        start_batchers(settings, network, store.leads, stack)
        tracing = await _start_tracing(settings, network, store, stack)
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
            require_ready=store.require_ready,
            nodes=store.nodes,
            stopping=stopping,
            memory=_open_watermark(settings, network, memory or ProcessMemory()),
            gauges=_open_gauges(settings, network, store, stack),
            tracing=tracing,
        )


async def _open_secrets(
    settings: Settings, network: Network, token_key: bytes, store: Store, stack: AsyncExitStack
) -> NetworkSecrets:
    network.vault = await open_vault(settings, network, stack)
    network.token_keys = await open_token_ring(settings, network, token_key, store.leads)
    return NetworkSecrets(open_operator_secrets(settings), network.vault)


async def _start_tracing(
    settings: Settings, network: Network, store: Store, stack: AsyncExitStack
) -> TracingProcess | None:
    if not settings.traces_to:
        return None
    return await start_tracing(settings, build_job(settings, JOURNAL_FOLDER, INDEX_FILE), network, store, stack)


def _build_network(
    settings: Settings, store: Store, clock: Clock, randomness: Randomness, token_key: bytes, metrics: Metrics
) -> Network:
    return Network(
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


def _open_watermark(settings: Settings, network: Network, gauge: MemoryGauge) -> MemoryWatermark:
    memory = MemoryWatermark(gauge, settings.memory_most_share, network.clock)
    watch_memory(network.metrics, memory)
    return memory


def _open_gauges(settings: Settings, network: Network, store: Store, stack: AsyncExitStack) -> QueriedGauges:
    watch_process(network.metrics)
    others = list_optional_gauges(settings, network, store)
    gauges = NetworkGauges(network, store.leads, settings.metrics_services).build_queried(others)
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
        task.add_done_callback(_log_failure)
        stack.push_async_callback(_ended, task)


def _log_failure(task: asyncio.Task[None]) -> None:
    """Log that a task which runs until the network is closed has failed; nothing restarts it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("network.task_failed: a background task ended; restart the server", exc_info=error)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _index_waiter(store: Store) -> Callable[[], Awaitable[None]]:
    """Return a function that waits until the index has everything that is durable now."""

    async def wait_until_indexed() -> None:
        await store.keeper.wait_for((await store.journal.head()).seq)

    return wait_until_indexed


def start_batchers(
    settings: Settings, network: Network, leads: Callable[[], Awaitable[bool]], stack: AsyncExitStack
) -> None:
    """Run batchers on the leader node until the stack is closed."""
    stage = BatchStage(
        network, leads=leads, message_bytes=settings.message_bytes, is_shared=settings.acceptance == "shared"
    )
    stack.push_async_callback(stage.close)
    stage.start()
