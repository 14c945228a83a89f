"""Runs a batcher for each service that gathers messages, on the leader node.

Rules: a batcher stops cleanly, so that its successor knows which batches were interrupted. The successor for a
service starts when its predecessor has ended. Batchers sleep on the event loop, so in a simulation they follow its
simulated time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from postroad.core.model.asset import Hosting
from postroad.core.model.snapshot import Directory
from postroad.errors import PostroadError
from postroad.flow.batching.interchange_outcome import check_unattended_batches
from postroad.flow.batching.outcome_polling import RECHECK_S
from postroad.flow.batching.send_port import MESSAGE_BYTES, SendPortWorker
from postroad.flow.concurrency.error_location import locate_error
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.flow.log_fields import describe_error
from postroad.flow.network import Network
from postroad.flow.registries.service_workers import ServiceWorkers
from postroad.flow.stages.expire import is_always_leader

LOOK_S = 2.0  # for what became of interchanges on other nodes, and for who leads
IDLE_S = 60.0
RETRY_S = 1.0

log = logging.getLogger(__name__)

Leads = Callable[[], Awaitable[bool]]


class BatcherSettings(NamedTuple):
    """Settings that apply to all batchers of a node."""

    leads: Leads
    message_bytes: int
    look_s: float
    is_shared: bool  # other nodes may change batches, too


class BatchStage:
    """Follows the directory and runs one batcher for each active service that is hosted as one."""

    def __init__(
        self,
        network: Network,
        *,
        leads: Leads = is_always_leader,
        message_bytes: int = MESSAGE_BYTES,
        look_s: float = LOOK_S,
        is_shared: bool = False,
    ) -> None:
        self._network = network
        self._terms = BatcherSettings(leads, message_bytes, look_s, is_shared)
        self._latest: dict[str, Batcher] = {}
        self._looking_after: asyncio.Task[None] | None = None
        self._batchers = ServiceWorkers(find_batchers, self._batcher)

    def start(self) -> None:
        self._batchers.start(self._network.configuration)
        self._looking_after = asyncio.get_running_loop().create_task(self._check_unattended())

    async def close(self) -> None:
        """Stop cleanly: store all arrivals, so that the next leader knows that no batch was interrupted."""
        if self._looking_after is not None:
            self._looking_after.cancel()
            await asyncio.gather(self._looking_after, return_exceptions=True)
        await self._batchers.close()

    async def abandon(self) -> None:
        """Stop as a crash would, for tests."""
        for batcher in self._latest.values():
            batcher.abandon()
        await self.close()

    async def _check_unattended(self) -> None:
        """Check interchanges whose services have no batcher any more."""
        while True:
            await asyncio.sleep(RECHECK_S)
            try:
                if await self._terms.leads():
                    await check_unattended_batches(self._network, find_batchers(self._network.directory))
            except PostroadError as error:
                log.warning("batch.orphans_waiting: batches without a batcher cannot be looked at: %s", error)
            except Exception as error:
                log.error("batch.orphans_failed: looking at batches without a batcher failed: %s", locate_error(error))

    def _batcher(self, gcid: str) -> Batcher:
        batcher = Batcher(self._network, gcid, self._terms, self._latest.get(gcid))
        self._latest[gcid] = batcher
        return batcher


class Batcher:
    """Runs one send port until it is ended."""

    def __init__(self, network: Network, gcid: str, terms: BatcherSettings, before: Batcher | None) -> None:
        self._network = network
        self._gcid = gcid
        self._terms = terms
        self._port: SendPortWorker | None = None
        self._wait = InterruptibleWait()
        self._is_abandoned = False
        self._woken = asyncio.Event()
        self._arrival: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()
        self._running = asyncio.get_running_loop().create_task(self._run(before))

    async def end(self) -> None:
        """Stop taking messages and leave a clean state for the next batcher."""
        self._wait.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        if self._arrival is not None:
            self._arrival.cancel()
            await asyncio.gather(self._arrival, return_exceptions=True)
        try:
            if self._port is not None and not self._is_abandoned:
                self._network.batches.listen(self._gcid, None)
                await self._port.rest()
        except PostroadError as error:
            log.warning(
                "batch.rest_failed: the batches of %s are left as after a crash: %s",
                self._gcid,
                error,
                extra={"gcid": self._gcid} | describe_error(error),
            )
        finally:
            self.ended.set()

    def abandon(self) -> None:
        """Stop without any cleanup, for tests."""
        self._is_abandoned = True
        self._running.cancel()

    async def _run(self, before: Batcher | None) -> None:
        if before is not None:
            await self._wait.until(_until(before.ended))
        while not self._wait.cancelled:
            try:
                await self._round()
            except PostroadError as error:
                log.warning(
                    "batch.waiting: the batcher %s waits a moment: %s",
                    self._gcid,
                    error,
                    extra={"gcid": self._gcid} | describe_error(error),
                )
                await self._wait_after_error()
            except Exception as error:
                log.error(
                    "batch.failed: the batcher %s failed: %s",
                    self._gcid,
                    locate_error(error),
                    extra={"gcid": self._gcid},
                )
                await self._wait_after_error()

    async def _round(self) -> None:
        terms = self._terms
        if not await terms.leads():
            if self._port is not None:
                self._port.pause()
            await self._pause(terms.look_s)
            return
        arrival = await self._listen()
        self._woken.clear()
        if self._port is None:
            self._port = SendPortWorker(self._network, self._gcid, terms.message_bytes, self._woken.set)
        due_us = await self._port.work()
        most_s = terms.look_s if terms.is_shared or self._port.is_waiting else IDLE_S
        left_s = most_s if due_us is None else min(most_s, (due_us - self._network.clock.now_us()) / 1_000_000)
        if left_s > 0 and not self._wait.cancelled:  # it may have ended while we worked
            await self._wait.until(self._sooner(arrival, left_s))
        if terms.is_shared:
            self._port.note_change()

    async def _listen(self) -> asyncio.Task[None]:
        """Start noticing arrivals, also during the work that follows."""
        if self._arrival is None or self._arrival.done():
            self._arrival = asyncio.get_running_loop().create_task(self._network.desk.arrival(self._gcid, IDLE_S))
            await asyncio.sleep(0)
        return self._arrival

    async def _sooner(self, arrival: asyncio.Task[None], left_s: float) -> None:
        """Wait for an arrival, a change of a batch by another party, or the end of the time."""
        woken = asyncio.get_running_loop().create_task(_until(self._woken))
        try:
            await asyncio.wait({arrival, woken}, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()

    async def _wait_after_error(self) -> None:
        if self._port is not None:
            self._port.note_change()
        await self._pause(RETRY_S)

    async def _pause(self, seconds: float) -> None:
        if not self._wait.cancelled:
            await self._wait.until(asyncio.sleep(seconds))


async def _until(event: asyncio.Event) -> None:
    await event.wait()


def find_batchers(directory: Directory) -> dict[str, str]:
    """Return the active batchers, by GCID; a change of policy does not restart a batcher."""
    return {
        service.gcid: service.gcid
        for service in directory.services.values()
        if service.hosted is Hosting.BATCHER and service.batching is not None and not directory.is_suspended(service)
    }
