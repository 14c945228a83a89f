"""The gauges that no component knows by itself: queues, index, dead letters, batches, process, event loop."""

from __future__ import annotations

import asyncio
import platform
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import postroad
from postroad.adapters.process_status import read_process_status
from postroad.bootstrap.queried_gauges import Compute, QueriedGauges
from postroad.core.metrics.registry import Metrics
from postroad.core.model.batch import BATCH_MOVES, BatchState
from postroad.core.model.journal import decode
from postroad.flow.network import Network
from postroad.flow.stages.hand_out_counts import find_mode
from postroad.ports import Clock, Journal

LAG_EVERY_S = 0.25
MODES = ("poll", "push", "hosted")
GATHERING = (BatchState.OPEN, BatchState.CLOSED)
UNSETTLED = tuple(state for state, moves in BATCH_MOVES.items() if moves)


class NetworkGauges:
    """Computes the gauges of one node, with queries to its index and desk."""

    def __init__(self, network: Network, leads: Callable[[], Awaitable[bool]], top_services: int) -> None:
        self._network = network
        self._metrics = network.metrics
        self._leads = leads
        self._top_services = top_services
        network.metrics.on_read(self._read_directory)

    def build_queried(self, others: Sequence[Compute] = ()) -> QueriedGauges:
        """Return the gauges that take a query, with those of optional parts."""
        computations: list[Compute] = [
            self._read_index,
            self._read_queues,
            self._read_oldest,
            self._read_letters,
            self._read_leader,
        ]
        computations += [self._read_due, self._read_batches, *others]
        return QueriedGauges(self._metrics, self._network.clock, computations)

    def _read_directory(self) -> None:
        directory = self._network.directory
        self._metrics.gauge("directory_version").set(directory.version)
        self._metrics.inform("build_info", postroad.__version__, platform.python_version(), str(directory.level))

    async def _read_index(self) -> None:
        """Set how far the index is, and how old the first entry is that it lacks."""
        position = (await self._network.index.position()).seq
        head = (await self._network.journal.head()).seq
        self._metrics.gauge("index_entry").set(position)
        self._metrics.gauge("journal_head_entry").set(head)
        behind = await self._age(position + 1) if position < head else 0.0
        self._metrics.gauge("index_behind_seconds").set(behind)

    async def _read_queues(self) -> None:
        network = self._network
        leased = await network.desk.count_leased()
        rows = await network.index.query("mailboxes")
        waiting, out = Counter[str](), Counter[str]()
        for gcid, count in rows:
            mode = find_mode(network.directory.services.get(gcid))
            waiting[mode] += max(0, count - leased.get(gcid, 0))
            out[mode] += leased.get(gcid, 0)
        for mode in MODES:
            self._metrics.gauge("waiting_deliveries", mode).set(waiting[mode])
            self._metrics.gauge("leased_deliveries", mode).set(out[mode])
        self._name_top(dict(rows))

    def _name_top(self, waiting: dict[str, int]) -> None:
        """Name the services with the longest queues."""
        top = sorted(waiting, key=lambda gcid: (-waiting[gcid], gcid))[: self._top_services]
        gauges = self._metrics.gauges("top_waiting_deliveries")
        gauges.forget()
        for gcid in top:
            gauges.of(self._network.directory.address_of(gcid)).set(waiting[gcid])

    async def _read_oldest(self) -> None:
        rows = await self._network.index.query("oldest_queued")
        oldest = await self._age(rows[0][0]) if rows and rows[0][0] is not None else 0.0
        self._metrics.gauge("oldest_waiting_seconds").set(oldest)

    async def _read_letters(self) -> None:
        [(count,)] = await self._network.index.query("dead_letter_count")
        self._metrics.gauge("dead_letters").set(count)

    async def _read_leader(self) -> None:
        self._metrics.gauge("leader").set(1 if await self._leads() else 0)

    async def _read_due(self) -> None:
        [row] = await self._network.index.query("next_due")
        now_us = self._network.clock.now_us()
        late_us = max((now_us - at_us for at_us in row if at_us), default=0)
        self._metrics.gauge("ends_late_seconds").set(max(0, late_us) / 1_000_000)

    async def _read_batches(self) -> None:
        rows = {state: (count, opened_us) for state, count, opened_us in await self._unsettled_batches()}
        for state in UNSETTLED:
            self._metrics.gauge("batches", state.value).set(rows.get(state.value, (0, 0))[0])
        opened = [rows[state.value][1] for state in GATHERING if state.value in rows]
        oldest_us = self._network.clock.now_us() - min(opened) if opened else 0
        self._metrics.gauge("oldest_open_batch_seconds").set(max(0, oldest_us) / 1_000_000)

    async def _unsettled_batches(self) -> list[tuple[str, int, int]]:
        return [(row[0], row[1], row[2]) for row in await self._network.index.query("unsettled_batch_counts")]

    async def _age(self, seq: int) -> float:
        return await find_age_s(self._network.journal, seq, self._network.clock)


async def find_age_s(journal: Journal, seq: int, clock: Clock) -> float:
    """Return the age of an entry in seconds; 0 if it is not durable yet."""
    records = (await journal.read(seq - 1, 1)).records
    if not records:
        return 0.0
    return max(0, clock.now_us() - decode(records[0].facts).at_us) / 1_000_000


def watch_process(metrics: Metrics) -> None:
    """Report the process on every page."""

    def update() -> None:
        status = read_process_status()
        metrics.counter("process_cpu_seconds_total").value = status.cpu_s
        metrics.gauge("process_resident_memory_bytes").set(status.resident_bytes)
        metrics.gauge("process_virtual_memory_bytes").set(status.virtual_bytes)
        metrics.gauge("process_start_time_seconds").set(status.started_at_s)
        metrics.gauge("process_open_fds").set(status.open_files)
        metrics.gauge("process_max_fds").set(status.max_files)

    metrics.on_read(update)


async def measure_loop_lag(metrics: Metrics, clock: Clock) -> None:
    """Measure how late the event loop runs a timer, until cancelled."""
    lag = metrics.histogram("loop_lag_seconds")
    while True:
        began = clock.monotonic()
        await asyncio.sleep(LAG_EVERY_S)
        lag.observe(max(0.0, clock.monotonic() - began - LAG_EVERY_S))
