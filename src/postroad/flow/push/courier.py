"""The courier of one service: takes waiting deliveries and pushes them, a few at a time.

Rules: nothing is taken outside the service's windows, before it is released, while its endpoints are paused, or
without a free slot. So a message that cannot be pushed now waits in the mailbox, where the service may also poll it,
and uses up no attempt. When a push succeeds after a pause, everything that waits for a retry is pushed at once,
oldest first. A receiver that hangs holds the slots of its own service only, and no slots for quick
receivers.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from dataclasses import dataclass

from postroad.core.delivery.push_endpoints import PushEndpoints, PushTarget
from postroad.core.delivery.reasons import reason_text
from postroad.core.delivery.retry_policy import QUICK_S, ReceiverPace
from postroad.core.delivery.windows import next_opening, spread_s
from postroad.core.model.delivery import PushPause
from postroad.core.model.directory import Push, Service
from postroad.core.model.journal import DeliveryAttempted, decode
from postroad.core.model.message import Delivered
from postroad.core.model.polling import Outcome, PollRequest, Settlement
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.flow.log_fields import describe_delivery, describe_service
from postroad.flow.network import Network
from postroad.flow.push.attempt import EndpointHealth, PushAttempts, make_receiver_caller
from postroad.flow.push.failure_streak import FailureStreak
from postroad.flow.push.hold import PushHold
from postroad.flow.push.slots import PushCapacity, PushSlots
from postroad.flow.registries.push_control import RequestedPush
from postroad.flow.stages.mediate import HandedDelivery

LEASE_BEYOND_S = 45.0  # the time of a push, for writing down what came of it
RETRY_S = 1.0
IDLE_S = 60.0
MAX_SLEEP_S = 3_600.0
GRACE_S = 5.0
MAX_FAILING_S = 5 * 86_400.0

log = logging.getLogger(__name__)
MAX_REMEMBERED = 20_000  # deliveries, of all that one courier has tried


class AttemptCounts:
    """Attempt counts of recent deliveries; older ones are read from the journal.

    Rule: only pushes with an outcome in the journal count as attempts. A push that a server stop interrupts counts as a
    hand-out, but does not use up one of the service's ``tries``; neither does a poll. The count comes from the journal
    unless this process made the last attempt itself.
    """

    def __init__(self, network: Network) -> None:
        self._network = network
        self._known: OrderedDict[int, tuple[int, int]] = OrderedDict()  # by delivery: its last hand-out here, its tries

    async def count(self, number: int, hand_out: int) -> int:
        """Return how often the delivery was tried before its hand-out of that number, which is the latest."""
        if hand_out <= 1:
            return 0
        last, tries = self._known.get(number, (0, 0))
        return tries if last == hand_out - 1 else await self._recorded(number)

    def record(self, number: int, hand_out: int, tries: int) -> None:
        """Record the end of attempt number ``tries`` at that hand-out."""
        self._known[number] = hand_out, tries
        self._known.move_to_end(number)
        if len(self._known) > MAX_REMEMBERED:
            self._known.popitem(last=False)

    async def _recorded(self, number: int) -> int:
        await self._network.wait_until_indexed()
        count = 0
        for (seq,) in await self._network.index.query("delivery_trail", number):
            batch = await self._network.journal.read(seq - 1, 1)
            count += isinstance(decode(batch.records[0].facts), DeliveryAttempted)
        return count


@dataclass(slots=True, kw_only=True)
class ActivePush:
    """A push in progress: its delivery, capacity class, and the timer that marks it slow."""

    delivered: Delivered
    slots: PushSlots
    late: asyncio.TimerHandle


class Courier:
    """Pushes for one service and profile, from its creation until ``end``."""

    def __init__(
        self,
        network: Network,
        attempts: PushAttempts,
        capacity: PushCapacity,
        service: Service,
        push: Push,
        *,
        is_new: bool = False,
    ) -> None:
        """``is_new``: the profile has just changed, so the oldest delivery is pushed before it is due."""
        self.service = service
        self._network = network
        self._attempts = attempts
        self._capacity = capacity
        self._places = PushEndpoints(push)
        self._pace = ReceiverPace()
        self._failing = FailureStreak(network, service)
        self._holding = PushHold(network, service)
        self._wait = InterruptibleWait()
        self._tries = AttemptCounts(network)
        self._early = is_new
        self._has_succeeded = False
        self._resumed = asyncio.Event()  # a pause is over before its time
        self._last_of: dict[
            str, asyncio.Task[EndpointHealth]
        ] = {}  # by sender, the latest push of a message that goes on from here
        self._slots_taken = 0
        self._under_way: dict[asyncio.Task[EndpointHealth], ActivePush] = {}
        self._running = asyncio.get_running_loop().create_task(self._run())
        network.clock_steps.add(self._resumed.set)

    async def end(self) -> None:
        """Stop taking deliveries, finish pushes in progress, and give back those that take too long."""
        self._network.clock_steps.remove(self._resumed.set)
        self._wait.cancel()
        await asyncio.gather(self._running, return_exceptions=True)
        if not self._under_way:
            return
        _, late = await asyncio.wait(self._under_way, timeout=GRACE_S)
        interrupted = tuple(self._under_way[task].delivered.token for task in late)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        if interrupted:
            await self._give_back(interrupted)

    def pause(self) -> PushPause | None:
        """Return the pause after failures of the receiver; None if there is none."""
        opened, clock = self._places.find_open_breaker(), self._network.clock
        if opened is None:
            return None
        left_s = max(0.0, opened.probe_at_s - clock.monotonic())
        return PushPause(until_us=clock.now_us() + int(left_s * 1_000_000), failed=opened.failed, of=opened.of)

    async def try_now(self) -> RequestedPush:
        """Push the oldest waiting message, also in a pause or before it is due, but only within the windows."""
        if self._closed_s() > 0:
            return RequestedPush(reason="the delivery window is closed")
        slots = self._find_slots()
        await slots.acquire(self.service.organization, 1)
        begun = None
        try:
            going = [] if self._wait.cancelled else await self._waiting(1, early=True)
            if going:
                [tries] = await self._tries_of(going)
                self._places.probe_now(self._network.clock.monotonic())
                begun = self._begin(going[0], slots, tries)
        finally:
            if begun is None:
                slots.release(self.service.organization, 1)
        if begun is None:
            return RequestedPush(reason="no message is waiting")
        made = await asyncio.shield(begun)
        return RequestedPush(
            session=going[0].delivered.session,
            is_delivered=made.fault is None,
            reason=reason_text(made.fault) if made.fault else "",
        )

    async def _run(self) -> None:
        while not self._wait.cancelled:
            try:
                await self._round()
            except Refused as refusal:  # its own policy; a change of the profile brings another courier
                log.warning(
                    "push.refused: %s cannot be pushed to: %s",
                    self.service.address,
                    refusal,
                    extra=describe_service(self.service, refusal),
                )
                await self._wait.until(asyncio.sleep(MAX_SLEEP_S))
            except Unavailable as error:
                log.warning(
                    "push.waiting: nothing can be pushed to %s now: %s",
                    self.service.address,
                    error,
                    extra=describe_service(self.service, error),
                )
                await self._wait.until(asyncio.sleep(RETRY_S))
            except Exception as error:
                log.error(
                    "push.failed: pushing to %s failed: %s",
                    self.service.address,
                    type(error).__name__,
                    extra=describe_service(self.service, error),
                )
                await self._wait.until(asyncio.sleep(RETRY_S))

    async def _round(self) -> None:
        """Wait for whatever is missing — an open window, a well receiver, a place, something to push — or begin pushes."""
        if (pause_s := self._pause_s()) > 0:
            await self._wait.until(self._sleep(min(pause_s, MAX_SLEEP_S)))
        elif len(self._under_way) >= self._pace.at_once:
            await self._wait.until(_any_done(self._under_way))
        elif not await self._begin_some():
            await self._wait.until(self._holding.more(IDLE_S))

    async def _sleep(self, seconds: float) -> None:
        """Sleep through a pause, until a push succeeds or the clock is set."""
        self._resumed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._resumed.wait()

    async def _resume(self) -> None:
        """Push everything that waits for its next attempt, since the receiver has recovered."""
        try:
            await self._network.desk.hasten(self.service.gcid)
        except Unavailable as error:  # each of them is tried when its time comes
            log.warning(
                "push.retries_waiting: retries to %s wait for their time: %s",
                self.service.address,
                error,
                extra=describe_service(self.service, error),
            )
        self._resumed.set()

    async def _begin_some(self) -> bool:
        """Push waiting messages as far as slots allow; False if nothing waits."""
        slots = self._find_slots()
        await self._wait.until(self._take_slots(slots))
        begun = 0
        try:
            if self._wait.cancelled or not self._slots_taken or self._pause_s() > 0 or slots is not self._find_slots():
                return True  # things have changed while we waited for a place
            begun = await self._begin_at_most(1 if self._places.only_probes_allowed else self._slots_taken, slots)
            return begun > 0
        finally:
            slots.release(self.service.organization, self._slots_taken - begun)
            self._slots_taken = 0

    async def _begin_at_most(self, most: int, slots: PushSlots) -> int:
        early, self._early = self._early, False
        waiting = await self._waiting(most, early)
        going = [handed for handed in waiting if self._may_go(handed.delivered)]
        if late := tuple(handed.delivered.token for handed in waiting if handed not in going):
            await self._give_back(late)
        for handed, tries in zip(going, await self._tries_of(going), strict=True):
            self._begin(handed, slots, tries)
        return len(going)

    async def _tries_of(self, going: list[HandedDelivery]) -> list[int]:
        """Return the attempt counts; if they cannot be read now, the deliveries wait again."""
        try:
            return [await self._tries.count(self._number(one), one.delivered.attempt) for one in going]
        except BaseException:
            await self._give_back(tuple(handed.delivered.token for handed in going))
            raise

    def _number(self, handed: HandedDelivery) -> int:
        return self._network.lookup.number(handed.delivered)

    async def _waiting(self, most: int, early: bool) -> list[HandedDelivery]:
        """Return waiting deliveries in the service's format, without those that cannot be encoded.

        ``early``: includes messages that wait for a retry.
        """
        request = PollRequest(max=most, lease_s=self._attempts.timeout_s + LEASE_BEYOND_S)
        up_to = self._holding.up_to
        while waiting := await self._network.poll(
            make_receiver_caller(self.service), request, self._wait, up_to, early
        ):
            if prepared := await self._network.mediation.prepare_for_push(self.service, waiting):
                return prepared
        return []

    def _may_go(self, delivered: Delivered) -> bool:
        """Whether the delivery has not expired; leasing takes time where the database is slow."""
        return self._closed_s() <= 0 and not 0 < delivered.expires_at_us <= self._network.clock.now_us()

    def _find_slots(self) -> PushSlots:
        return self._capacity.quick if self._pace.is_quick else self._capacity.slow

    async def _take_slots(self, slots: PushSlots) -> None:
        most = max(1, self._pace.at_once - len(self._under_way))
        self._slots_taken = await slots.acquire(self.service.organization, most)

    def _begin(self, handed: HandedDelivery, slots: PushSlots, tries: int) -> asyncio.Task[EndpointHealth]:
        loop = asyncio.get_running_loop()
        target = self._places.target(tries + 1, self._network.clock.monotonic())
        sender, is_in_transit = handed.delivered.sender_gcid, handed.delivered.in_transit
        before = self._last_of.get(sender) if is_in_transit else None
        task = loop.create_task(self._attempt(handed, target, before))
        if is_in_transit:
            self._last_of[sender] = task
        late = loop.call_later(QUICK_S, self._mark_slow, task)
        self._under_way[task] = ActivePush(delivered=handed.delivered, slots=slots, late=late)
        task.add_done_callback(self._done)
        return task

    def _mark_slow(self, task: asyncio.Task[EndpointHealth]) -> None:
        """Treat the receiver as slow: move this push and the next ones to the slow capacity class."""
        self._pace.mark_slow()
        push, organization = self._under_way[task], self.service.organization
        if push.slots is self._capacity.quick and self._capacity.slow.take_over(organization):
            push.slots = self._capacity.slow
            self._capacity.quick.release(organization, 1)

    async def _attempt(
        self, handed: HandedDelivery, target: PushTarget, before: asyncio.Task[EndpointHealth] | None
    ) -> EndpointHealth:
        clock = self._network.clock
        begun = clock.monotonic()
        made = await self._attempts.make(self.service, target, handed, before)
        self._tries.record(self._number(handed), handed.delivered.attempt, target.attempt)
        now = clock.monotonic()
        self._attempts.seconds.of("quick" if self._find_slots() is self._capacity.quick else "slow").observe(
            now - begun
        )
        if made.is_well:
            is_first, self._has_succeeded = not self._has_succeeded, True
            has_closed = self._places.record_success(target, now)
            self._pace.record_success(now - begun)
            self._failing.end()
            if has_closed or is_first:
                await self._resume()
            return made
        self._places.record_failure(target, now)
        self._pace.record_failure()
        if made.is_gone:
            self._mark_gone(target)
        if await self._failing.for_s(now) > MAX_FAILING_S:
            await self._attempts.switch_off(self.service, "no push has succeeded for five days")
        return made

    def _mark_gone(self, target: PushTarget) -> None:
        self._places.mark_gone(target)
        if target.another:
            gone, left = ("backup", "main place") if target.is_backup else ("main place", "backup")
            log.warning(
                "push.endpoint_gone: the %s of %s is gone (410): pushes go to its %s",
                gone,
                self.service.address,
                left,
                extra=describe_service(self.service),
            )

    def _done(self, task: asyncio.Task[EndpointHealth]) -> None:
        push = self._under_way.pop(task)
        if self._last_of.get(push.delivered.sender_gcid) is task:
            del self._last_of[push.delivered.sender_gcid]
        push.late.cancel()
        push.slots.release(self.service.organization, 1)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error(
                "push.left_to_lease: a push to %s was left to its lease: %s",
                self.service.address,
                type(error).__name__,
                extra=describe_delivery(self.service, push.delivered, error),
            )

    def _pause_s(self) -> float:
        """Return how long pushes must wait: for a window to open, or for the breaker to allow an attempt."""
        now = self._network.clock.monotonic()
        return self._closed_s() or self._places.allows_from(now) - now

    def _closed_s(self) -> float:
        service, now_us = self.service, self._network.clock.now_us()
        opening_us = next_opening(service.windows, service.time_zone, now_us)
        return (opening_us - now_us) / 1_000_000 + spread_s(service.windows, service.time_zone, now_us, service.gcid, 0)

    async def _give_back(self, tokens: tuple[str, ...]) -> None:
        settlement = Settlement(tokens=tokens, outcome=Outcome.NACK, reason="the push was interrupted")
        try:
            await self._network.settle(make_receiver_caller(self.service), settlement)
        except Unavailable as error:
            log.warning(
                "push.all_left_to_lease: pushes to %s are left to their lease: %s",
                self.service.address,
                error,
                extra=describe_service(self.service, error),
            )


async def _any_done(under_way: dict[asyncio.Task[EndpointHealth], ActivePush]) -> None:
    await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
