"""Worker for one hosted service's mailbox: polls deliveries and runs several at a time."""

from __future__ import annotations

import asyncio
import logging

from postroad.core.model.caller import Caller
from postroad.core.model.message import Delivered
from postroad.core.model.polling import WAIT_MAX_S, PollRequest
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.flow.network import Network
from postroad.services.hosting.runner import LEASE_S, DeliveryRunner

AT_ONCE = 8  # concurrent deliveries of one service; others stay in the mailbox, also for other nodes
RETRY_S = 1.0
GRACE_S = 5.0

log = logging.getLogger(__name__)


class MailboxWorker:
    """Polls and runs deliveries from its creation until ``end``."""

    def __init__(self, network: Network, runner: DeliveryRunner, gcid: str) -> None:
        self._network = network
        self._runner = runner
        self._gcid = gcid
        self._wait = InterruptibleWait()
        self._working: dict[asyncio.Task[None], Delivered] = {}
        self._attending = asyncio.get_running_loop().create_task(self._attend())

    def leave(self) -> None:
        """Stop polling."""
        self._wait.cancel()

    async def end(self) -> None:
        """Stop polling, finish deliveries in progress, and return those that take too long."""
        self.leave()
        await asyncio.gather(self._attending, return_exceptions=True)
        if not self._working:
            return
        _, late = await asyncio.wait(self._working, timeout=GRACE_S)
        interrupted = [self._working[task] for task in late]
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        for delivered in interrupted:
            await self._give_back(delivered)

    async def _attend(self) -> None:
        while not self._wait.cancelled:
            try:
                await self._take()
            except (Refused, Unavailable) as error:
                log.warning(
                    "hosted.mailbox_unreadable: the mailbox of hosted service %s cannot be read: %s",
                    self._gcid,
                    error,
                    extra={"gcid": self._gcid},
                )
                await self._wait.until(asyncio.sleep(RETRY_S))
            except Exception as error:
                log.error(
                    "hosted.worker_failed: attending to hosted service %s failed: %s",
                    self._gcid,
                    type(error).__name__,
                    extra={"gcid": self._gcid},
                )
                await self._wait.until(asyncio.sleep(RETRY_S))

    async def _take(self) -> None:
        """Poll once and start the work on the result."""
        if len(self._working) >= AT_ONCE:
            await self._wait.until(_any_done(self._working))
            return
        service = self._network.directory.services.get(self._gcid)
        if service is None:
            self.leave()
            return
        request = PollRequest(max=AT_ONCE - len(self._working), wait_s=WAIT_MAX_S, lease_s=LEASE_S)
        for delivered in await self._network.poll(Caller.inside(service), request, self._wait):
            await self._begin(delivered)

    async def _begin(self, delivered: Delivered) -> None:
        """Start the work with the service's current profile, which may differ from that at the poll."""
        service = self._network.directory.services.get(self._gcid)
        if self._wait.cancelled or service is None:
            await self._give_back(delivered)
            return
        task = asyncio.get_running_loop().create_task(self._runner.serve(service, delivered))
        self._working[task] = delivered
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._working.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error(
                "hosted.delivery_left_to_lease: a delivery of hosted service %s was left to its lease: %s",
                self._gcid,
                type(error).__name__,
                extra={"gcid": self._gcid},
            )

    async def _give_back(self, delivered: Delivered) -> None:
        service = self._network.directory.services.get(self._gcid)
        if service is not None:
            await self._runner.give_back(service, delivered, delay_s=0.0)


async def _any_done(working: dict[asyncio.Task[None], Delivered]) -> None:
    await asyncio.wait(working, return_when=asyncio.FIRST_COMPLETED)
