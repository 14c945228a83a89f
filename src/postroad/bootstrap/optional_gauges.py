"""The gauges of parts that not every network has: backups, traces, and a limit on memory.

Rule: a gauge without a value is absent from the page, since 0 would be a time, a number or a share like others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from postroad.adapters.journal.backup.status import read_status
from postroad.adapters.tracing.job import NAME
from postroad.bootstrap.followers import FollowedStore
from postroad.bootstrap.gauges import find_age_s
from postroad.bootstrap.queried_gauges import Compute
from postroad.bootstrap.settings import Settings
from postroad.core.metrics.registry import Metrics
from postroad.flow.concurrency.memory_watermark import MemoryWatermark
from postroad.flow.network import Network
from postroad.ports import Clock, FollowerCursors, Journal


def list_optional_gauges(settings: Settings, network: Network, store: FollowedStore) -> Sequence[Compute]:
    """Return the gauges that take a query or read a file, of the parts that these settings switch on."""
    found: list[Compute] = []
    if settings.index != "memory":
        found.append(BackupGauges(network.metrics, settings.data).read)
    if settings.traces_to:
        found.append(TraceGauge(network.metrics, store.journal, store.cursors, network.clock).read)
    return found


class BackupGauges:
    """Reports the last successful backup and verification of a data folder."""

    def __init__(self, metrics: Metrics, data: Path) -> None:
        self._metrics = metrics
        self._data = data

    async def read(self) -> None:
        status = await asyncio.to_thread(read_status, self._data)
        backup, verify = status.backup, status.verify
        self._set("backup_last_success_timestamp_seconds", backup.at if backup is not None else None)
        self._set("backup_first_success_timestamp_seconds", status.first_at)
        self._set("backup_entry", backup.entry if backup is not None else None)
        self._set("verify_last_success_timestamp_seconds", verify.at if verify is not None else None)

    def _set(self, name: str, value: float | None) -> None:
        if value is None:
            self._metrics.gauges(name).forget()
        else:
            self._metrics.gauge(name).set(value)


class TraceGauge:
    """Reports how far the export of traces is behind, from its cursor: whichever process or node exports."""

    def __init__(self, metrics: Metrics, journal: Journal, cursors: FollowerCursors, clock: Clock) -> None:
        self._behind = metrics.gauge("traces_behind_seconds")
        self._journal = journal
        self._cursors = cursors
        self._clock = clock

    async def read(self) -> None:
        cursor, head = await self._cursors.load(NAME), await self._journal.head()
        if cursor is None or cursor.seq >= head.seq:
            self._behind.set(0)
        else:
            self._behind.set(await find_age_s(self._journal, cursor.seq + 1, self._clock))


def watch_memory(metrics: Metrics, memory: MemoryWatermark) -> None:
    """Report the memory as it was measured last, if it is measured."""

    def update() -> None:
        if memory.share is not None:
            metrics.gauge("memory_used_ratio").set(memory.share)
            metrics.gauge("memory_limit_ratio").set(memory.most_share)

    metrics.on_read(update)
