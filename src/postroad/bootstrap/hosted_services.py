"""Start the hosted services with the network, and stop them before its stores.

Worker processes are started only when needed, for a stylesheet or a validating service, so other networks pay nothing
for them.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import NamedTuple

from postroad.adapters.confined.pool import WorkerPool
from postroad.adapters.large_bodies.workers import ReadingWorkers
from postroad.adapters.saxon.queries import SaxonQueries
from postroad.adapters.saxon.workers import SaxonWorkers
from postroad.adapters.scripts.scripts import ScriptWorkers, StarlarkScripts
from postroad.adapters.validation.workers import ValidationWorkers
from postroad.bootstrap.routings import load_routings
from postroad.bootstrap.settings import Settings
from postroad.core.exchange.exchange import DeciderLanguage
from postroad.core.model.asset import AssetKind, Hosting
from postroad.core.model.snapshot import Directory
from postroad.errors import PostroadError
from postroad.flow.concurrency.trial_limit import TrialLimit
from postroad.flow.network import Network
from postroad.ports import QueryEngine
from postroad.services.engines import Engines
from postroad.services.exchange.callables import Callables
from postroad.services.hosting.hosted_services import HostedServices

MAX_WORKERS = 4
READERS = 2  # so that large bodies of one organization do not delay others

log = logging.getLogger(__name__)


class HostedEngines(NamedTuple):
    """Engines for messages, and separate ones for trials and checks."""

    live: Engines
    trials: Engines
    reader: ReadingWorkers  # decodes large bodies


def host_services(settings: Settings, network: Network, stack: AsyncExitStack) -> HostedEngines:
    """Run the hosted services until the stack is closed; returns their engines."""
    callables = Callables(load_routings(settings.routings))
    network.exchanges.install(callables.names)
    processes = max(1, min(MAX_WORKERS, (os.cpu_count() or 1) // 2))
    metrics = network.metrics
    workers = SaxonWorkers(processes=processes, metrics=metrics)
    validation = ValidationWorkers(processes=processes, metrics=metrics)
    live = _engines(workers, ScriptWorkers(metrics=metrics), validation, callables, stack)
    _keep_warm(workers, _has_stylesheets, network, stack)
    _keep_warm(validation, _has_catalogues, network, stack)
    limit = TrialLimit()
    trials = _engines(
        SaxonWorkers(trial_limit=limit),
        ScriptWorkers(trial_limit=limit),
        ValidationWorkers(trial_limit=limit),
        callables,
        stack,
    )
    hosted = HostedServices(network, live)
    stack.push_async_callback(hosted.close)
    hosted.start()
    reader = ReadingWorkers(processes=READERS, metrics=metrics)
    stack.push_async_callback(reader.close)
    return HostedEngines(live, trials, reader)


def _engines(
    workers: SaxonWorkers,
    scripting: WorkerPool,
    validation: ValidationWorkers,
    callables: Callables,
    stack: AsyncExitStack,
) -> Engines:
    for pool in (workers, scripting, validation):
        stack.push_async_callback(pool.close)
    judges: dict[DeciderLanguage, QueryEngine] = {
        DeciderLanguage.QUERY: SaxonQueries(workers),
        DeciderLanguage.SCRIPT: StarlarkScripts(scripting),
        DeciderLanguage.CALLABLE: callables,
    }
    return Engines(transformer=workers, judges=judges, validator=validation)


def _has_stylesheets(directory: Directory) -> bool:
    return any(asset.kind is AssetKind.STYLESHEET for asset in directory.assets.values())


def _has_catalogues(directory: Directory) -> bool:
    return any(service.hosted is Hosting.VALIDATE or service.validates for service in directory.services.values())


def _keep_warm(
    workers: WorkerPool, wanted: Callable[[Directory], bool], network: Network, stack: AsyncExitStack
) -> None:
    warming = WorkerWarmup(workers, wanted)
    stack.push_async_callback(warming.end)
    network.configuration.on_change(warming.follow)


class WorkerWarmup:
    """Starts a worker when it is first known to be needed, so that the first message does not wait."""

    def __init__(self, workers: WorkerPool, wanted: Callable[[Directory], bool]) -> None:
        self._workers = workers
        self._wanted = wanted
        self._task: asyncio.Task[None] | None = None

    def follow(self, directory: Directory) -> None:
        if self._task is None and self._wanted(directory):
            self._task = asyncio.get_running_loop().create_task(self._warm())

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _warm(self) -> None:
        try:
            await self._workers.warm()
        except PostroadError as error:
            log.error("engine.not_started: no worker can be started: %s", error)
