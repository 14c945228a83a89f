"""The worker of a send port: gathers arrivals into batches and takes every batch to its end.

    take → close what is due → assemble what is closed → look what became of interchanges

Rules: all arrived messages are gathered before the clock is read, so that a late timer never excludes a message from
its batch. A decision is stored before anything follows from it. Changes by others are read again from the index.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from postroad.core.batching.arrival import is_selective
from postroad.core.batching.moves import close_batch, close_empty_batch, recover_batch
from postroad.core.model import ids
from postroad.core.model.batch import Batch, BatchState, Criterion
from postroad.core.model.batch_policy import Batching, BatchPolicy, Recovery
from postroad.core.model.delivery import DeliveryState
from postroad.core.model.directory import Service
from postroad.flow.batching.assemble import InterchangeAssembler
from postroad.flow.batching.intake import BatchIntake
from postroad.flow.batching.interchange_outcome import InterchangeOutcomes
from postroad.flow.batching.outcome_polling import OutcomePolling
from postroad.flow.batching.pending import BatchWrite, PendingBatches, TimedArrival
from postroad.flow.network import Network

MESSAGE_BYTES = 10 << 20
ROOM = 0.9  # of the largest message is for members; what stands around them needs some too
SAVE_AFTER_US = 1_000_000  # at the latest; less than the lease of what was taken
MAX_PAGES = 20  # taken before the clock is looked at again
SUPERSEDED = "it was changed while the next one was started"


class SendPortWorker:
    """Keeps the unsettled batches of one batcher in memory; ``work`` does everything that is due now."""

    def __init__(
        self,
        network: Network,
        gcid: str,
        message_bytes: int = MESSAGE_BYTES,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._network = network
        self._book = network.batches
        self._gcid = gcid
        self._message_bytes = message_bytes
        self._pending = PendingBatches(gcid)
        self._intake = BatchIntake(network, gcid)
        self._assembling = InterchangeAssembler(network, message_bytes)
        self._outcomes = InterchangeOutcomes(network)
        self._is_read = False
        self._is_begun = False
        self._left: set[tuple[str, int]] = set()  # ids and versions of batches that we had open when we paused
        self._new_id = self._latest_id = ""
        self._empty_after_us = 0
        self._unsaved_since_us = 0
        self._outcome_polling = OutcomePolling(self._book, gcid, network.clock)
        self._on_change = on_change
        self._book.listen(gcid, self.note_change)

    def note_change(self, delivery: int = 0) -> None:
        """Record that another party changed a batch of this port, or that an interchange delivery ended."""
        if delivery:
            self._outcome_polling.notify(delivery)
        else:
            self._is_read = False
        self._on_change()

    async def work(self) -> int | None:
        """Do everything that is due; returns the time of the next work in microseconds, None to wait for arrivals."""
        service = self._network.directory.services.get(self._gcid)
        if service is None or service.batching is None:
            return None
        batching = service.batching
        port = self._network.standards.port_of(service, batching.policy)
        if self._pending.follow(self._within(batching.policy), port):
            self._empty_after_us = self._now_us  # a new policy does not apply to earlier times
        await self._begin(batching)
        more = await self._take(service, batching)
        await self._close_due()
        if not self._is_read:
            await self._save()
            await self._read()
        await self._advance_all(service, batching)
        return self._now_us if more else self._next_us()

    async def rest(self) -> None:
        """Stop cleanly: store all arrivals, and record that the open batches were not interrupted.

        A service that is no longer a batcher may become one again, with any policy.
        """
        service = self._network.directory.services.get(self._gcid)
        batching = service.batching if service is not None else None
        await self._save()
        if not self._is_begun or (batching is not None and batching.policy.recovery is Recovery.GO_ON):
            return
        for batch in self._pending.opened:
            await self._book.write(self._gcid, "rested", [replace(batch, resting=True)])

    def pause(self) -> None:
        """Let another node work for this port until the next ``work``; unsaved arrivals return when their lease ends."""
        if self._is_begun:
            self._left = {(batch.id, batch.version) for batch in self._pending.opened}
        self._pending.drain()
        self._is_read = self._is_begun = False

    @property
    def is_waiting(self) -> bool:
        """Whether an interchange is in flight and its outcome is awaited."""
        return any(batch.state is BatchState.ASSEMBLED for batch in self._pending.closed_batches)

    # --- gathering --------------------------------------------------------------------------------------------------

    async def _begin(self, batching: Batching) -> None:
        """Load the stored batches, and first apply what an unclean stop means for them.

        A batch that is unchanged since the worker stopped was not interrupted.
        """
        if not self._is_read:
            await self._save()
            await self._read()
        if self._is_begun:
            return
        for batch in [one for one in self._pending.opened if (one.id, one.version) not in self._left]:
            after = (
                replace(batch, resting=False) if batch.resting else recover_batch(batching.policy, batch, self._now_us)
            )
            if after != batch:
                what = {BatchState.OPEN: "went on", BatchState.CLOSED: "closed"}.get(after.state, "suspended")
                await self._write(what, after)
        newest = await self._book.newest(self._gcid)
        self._latest_id = "" if newest is None else newest.id
        self._empty_after_us = self._now_us if newest is None else max(newest.closed_at_us, newest.opened_at_us)
        self._is_begun = True

    async def _read(self) -> None:
        self._is_read = True
        self._pending.read(await self._book.list_unsettled(self._gcid))
        self._outcome_polling.follow(self._pending.closed_batches)

    async def _take(self, service: Service, batching: Batching) -> bool:
        """Gather waiting arrivals; returns whether more may wait."""
        for _ in range(MAX_PAGES):
            arrivals, more = await self._intake.claim(service, batching)
            self._add_arrivals(arrivals)
            unsaved = self._pending.unsaved
            if unsaved and (unsaved >= self._persist_at(batching) or self._pending.has_completed):
                await self._save()
            if not more:
                return False
        return True

    def _persist_at(self, batching: Batching) -> int:
        """Return how many arrivals are stored together: the larger value of the port and its batcher plug-in."""
        chosen = self._network.standards.batcher(batching.policy.batcher)
        return max(batching.persist_at, chosen.persist_at if chosen is not None else 0)

    def _add_arrivals(self, arrivals: Sequence[TimedArrival]) -> None:
        if not self._pending.unsaved:
            self._unsaved_since_us = self._now_us
        for one in arrivals:
            if self._pending.add(one, self._new_id or self._draw_id()):
                self._new_id = ""

    def _draw_id(self) -> str:
        """An id for the next batch, behind those of all before it: batches of one moment have an order, too."""
        drawn = ids.short(self._now_us, self._network.randomness.bytes(4))
        self._new_id = self._latest_id = max(drawn, ids.next_batch(self._latest_id))
        return self._new_id

    async def _save(self) -> None:
        """Store what has joined; repeat decisions that a concurrent change made impossible."""
        while writes := self._pending.drain():
            again: list[TimedArrival] = []
            outcomes = await asyncio.gather(*[self._written(write) for write in writes])  # in one group of the journal
            for write, written in zip(writes, outcomes, strict=True):
                if written is None:
                    again += await self._waiting(write.arrivals)
                for batch in written or ():
                    self._pending.note(batch)
            if again:
                await self._read()
                self._add_arrivals(again)

    async def _written(self, write: BatchWrite) -> list[Batch] | None:
        return await self._book.write(self._gcid, "joined", write.batches, write.joined)

    async def _waiting(self, arrivals: Sequence[TimedArrival]) -> list[TimedArrival]:
        """Return the arrivals that have not ended meanwhile and that no other batcher gathered."""
        waiting = []
        for one in arrivals:
            number = one.arrival.member.number
            found = await self._network.desk.find(number)
            if (
                found is not None
                and found.state is DeliveryState.QUEUED
                and await self._book.of_delivery(number) is None
            ):
                waiting.append(one)
        return waiting

    # --- time -------------------------------------------------------------------------------------------------------

    async def _close_due(self) -> None:
        now_us, pending = self._now_us, self._pending
        due_us = pending.next_us()
        is_late = pending.unsaved and now_us - self._unsaved_since_us >= SAVE_AFTER_US
        if is_late or (due_us is not None and due_us <= now_us):
            await self._save()
        for batch in pending.superseded:
            await self._write("closed", close_batch(batch, Criterion.RECOVERY, SUPERSEDED, now_us))
        for batch in pending.overdue(now_us):
            await self._write("closed" if batch.state is BatchState.CLOSED else "suspended", batch)
        await self._send_empty(now_us)

    async def _send_empty(self, now_us: int) -> None:
        """Close an empty batch if one was due and nothing was gathered."""
        due = self._pending.next_empty(self._empty_after_us)
        if due is None or due.when_us is None or due.when_us > now_us:
            return
        self._empty_after_us = now_us  # of several that were missed, one is enough
        if not self._pending.has_gathered_at(due.when_us):
            empty = close_empty_batch(self._draw_id(), due.why, due.when_us)
            self._new_id = ""
            await self._write("closed", replace(empty, service=self._gcid))

    async def _write(self, what: str, batch: Batch) -> None:
        written = await self._book.write(self._gcid, what, [batch])
        if written is None:
            self._is_read = False
        else:
            self._pending.note(written[0])

    # --- seeing through ---------------------------------------------------------------------------------------------

    async def _advance_all(self, service: Service, batching: Batching) -> None:
        """Assemble closed batches, and check the outcomes of sent interchanges."""
        self._assembling.forget()
        due = self._outcome_polling.due_batches(self._pending.closed_batches)
        while todo := [
            batch
            for place, batch in enumerate(self._pending.closed_batches)
            if (batch.state is BatchState.CLOSED and not batch.held and (place == 0 or not batching.ordered))
            or (
                batch.state is not BatchState.CLOSED
                and (batch.id in due or self._outcome_polling.has_notification(batch))
            )
        ]:
            await self._network.wait_until_indexed()
            due = set()
            for batch in todo:
                if not await self._advance(service, batching, batch):
                    await self._save()
                    await self._read()
                    break

    async def _advance(self, service: Service, batching: Batching, batch: Batch) -> bool:
        """Move a batch on by as many states as possible; False on a version conflict."""
        if batch.state is not BatchState.CLOSED:
            after = await self._look(batch)
        else:
            after = await self._assembling.assemble(service, batching, batch)
        if after is None:
            return False
        if after.state is BatchState.ASSEMBLED:
            self._outcome_polling.watch(after.delivery)
        if after is not batch:
            self._pending.note(after)
        return True

    async def _look(self, batch: Batch) -> Batch | None:
        self._outcome_polling.clear_notification(batch)
        try:
            after = await self._outcomes.check(batch)
        except Exception:
            self._outcome_polling.notify(batch.delivery)
            raise
        if after is not batch:
            self._outcome_polling.unwatch(batch.delivery)
        return after

    def _next_us(self) -> int | None:
        empty = self._pending.next_empty(self._empty_after_us)
        unsaved_us = self._unsaved_since_us + SAVE_AFTER_US if self._pending.unsaved else None
        times = (self._pending.next_us(), empty.when_us if empty is not None else None, unsaved_us)
        return min((at_us for at_us in times if at_us is not None), default=None)

    def _within(self, policy: BatchPolicy) -> BatchPolicy:
        """Return the policy limited to batches that fit into one message."""
        if not is_selective(policy):
            return policy
        most = int(self._message_bytes * ROOM)
        return dataclasses.replace(policy, bytes=min(policy.bytes or most, most))

    @property
    def _now_us(self) -> int:
        return self._network.clock.now_us()
