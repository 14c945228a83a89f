"""The courier of one service: takes what waits in its mailbox and has it pushed, a few at a time.

Rules: nothing is taken outside the service's windows, before it is released, while its endpoints are paused, or without a slot
among all pushes; so what cannot be pushed now waits in the mailbox, where the service may also poll it, and uses up no try. When
a push succeeds after a pause, everything that waits for its next try is pushed at once, oldest first. What hangs holds the slots
of this service alone, and none of those that quick receivers have among themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass

from postroad.core.delivery.pace import QUICK_S, Pace
from postroad.core.delivery.pauses import Pause
from postroad.core.delivery.places import Places, Target
from postroad.core.delivery.windows import next_opening, spread_s
from postroad.core.model.directory import Push, Service
from postroad.core.model.message import Delivered
from postroad.core.model.polling import Outcome as Wish
from postroad.core.model.polling import PollRequest, Settlement
from postroad.errors import Refused, Unavailable
from postroad.flow.mediate import Handed
from postroad.flow.network import Network
from postroad.flow.patience import Patience
from postroad.flow.push_attempt import Attempts, Made, caller_for
from postroad.flow.push_control import Tried
from postroad.flow.push_failing import Failing
from postroad.flow.push_holding import Holding
from postroad.flow.push_slots import Lanes, Slots
from postroad.flow.push_tries import Tries

LEASE_BEYOND_S = 45.0  # the time of a push, for writing down what came of it
AGAIN_S = 1.0
IDLE_S = 60.0
SLEEP_MOST_S = 3_600.0
GRACE_S = 5.0
FAILING_MOST_S = 5 * 86_400.0

log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class UnderWay:
    """A push that has begun: what it carries, in which lane its place is, and when it is late."""

    delivered: Delivered
    lane: Slots
    late: asyncio.TimerHandle


class Courier:
    """Works from the moment it is made until it is told to end, for the profile that it was given."""

    def __init__(
        self, network: Network, attempts: Attempts, lanes: Lanes, service: Service, push: Push, *, is_new: bool = False
    ) -> None:
        """``is_new``: its profile has just changed, so the oldest delivery is tried even if its next push is not due."""
        self.service = service
        self._network = network
        self._attempts = attempts
        self._lanes = lanes
        self._places = Places(push)
        self._pace = Pace()
        self._failing = Failing(network, service)
        self._holding = Holding(network, service)
        self._patience = Patience()
        self._tries = Tries(network)
        self._early = is_new
        self._has_succeeded = False
        self._resumed = asyncio.Event()  # a pause is over before its time
        self._last_of: dict[
            str, asyncio.Task[Made]
        ] = {}  # by sender, the latest push of a message that goes on from here
        self._slots_taken = 0
        self._under_way: dict[asyncio.Task[Made], UnderWay] = {}
        self._running = asyncio.get_running_loop().create_task(self._run())
        network.clock_steps.add(self._resumed.set)

    async def end(self) -> None:
        """Take nothing more, finish what is under way, and give back what takes too long."""
        self._network.clock_steps.remove(self._resumed.set)
        self._patience.end()
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

    def pause(self) -> Pause | None:
        """The pause that the failures of the receiver have caused; None when there is none."""
        opened, clock = self._places.opened(), self._network.clock
        if opened is None:
            return None
        left_s = max(0.0, opened.probe_at_s - clock.monotonic())
        return Pause(until_us=clock.now_us() + int(left_s * 1_000_000), failed=opened.failed, of=opened.of)

    async def try_now(self) -> Tried:
        """Push the oldest message that waits, during a pause and before its next try is due; not outside the windows."""
        if self._closed_s() > 0:
            return Tried(reason="the delivery window is closed")
        lane = self._lane()
        await lane.take(self.service.organization, 1)
        begun = None
        try:
            going = [] if self._patience.over else await self._waiting(1, early=True)
            if going:
                [tries] = await self._tries_of(going)
                self._places.probe_now(self._network.clock.monotonic())
                begun = self._begin(going[0], lane, tries)
        finally:
            if begun is None:
                lane.give(self.service.organization, 1)
        if begun is None:
            return Tried(reason="nothing waits to be pushed")
        made = await asyncio.shield(begun)
        return Tried(session=going[0].delivered.session, is_delivered=not made.fault, reason=made.fault)

    async def _run(self) -> None:
        while not self._patience.over:
            try:
                await self._round()
            except Refused as refusal:  # its own policy; a change of the profile brings another courier
                log.warning("%s cannot be pushed to: %s", self.service.address, refusal)
                await self._patience.wait(asyncio.sleep(SLEEP_MOST_S))
            except Unavailable as error:
                log.warning("nothing can be pushed to %s now: %s", self.service.address, error)
                await self._patience.wait(asyncio.sleep(AGAIN_S))
            except Exception as error:
                log.error("pushing to %s failed: %s", self.service.address, type(error).__name__)
                await self._patience.wait(asyncio.sleep(AGAIN_S))

    async def _round(self) -> None:
        """Wait for whatever is missing — an open window, a well receiver, a place, something to push — or begin pushes."""
        if (pause_s := self._pause_s()) > 0:
            await self._patience.wait(self._sleep(min(pause_s, SLEEP_MOST_S)))
        elif len(self._under_way) >= self._pace.at_once:
            await self._patience.wait(_any_done(self._under_way))
        elif not await self._begin_some():
            await self._patience.wait(self._holding.more(IDLE_S))

    async def _sleep(self, seconds: float) -> None:
        """Sleep through a pause; a push that succeeds meanwhile ends it, and so does setting the clock."""
        self._resumed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._resumed.wait()

    async def _resume(self) -> None:
        """Have everything pushed now that waits for its next try, since the receiver is well again."""
        try:
            await self._network.desk.hasten(self.service.gcid)
        except Unavailable as error:  # each of them is tried when its time comes
            log.warning("retries to %s wait for their time: %s", self.service.address, error)
        self._resumed.set()

    async def _begin_some(self) -> bool:
        """Push what waits, as far as there are places; False when nothing waits."""
        lane = self._lane()
        await self._patience.wait(self._take_slots(lane))
        begun = 0
        try:
            if self._patience.over or not self._slots_taken or self._pause_s() > 0 or lane is not self._lane():
                return True  # things have changed while we waited for a place
            begun = await self._begin_at_most(1 if self._places.are_let_alone else self._slots_taken, lane)
            return begun > 0
        finally:
            lane.give(self.service.organization, self._slots_taken - begun)
            self._slots_taken = 0

    async def _begin_at_most(self, most: int, lane: Slots) -> int:
        early, self._early = self._early, False
        waiting = await self._waiting(most, early)
        going = [handed for handed in waiting if self._may_go(handed.delivered)]
        if late := tuple(handed.delivered.token for handed in waiting if handed not in going):
            await self._give_back(late)
        for handed, tries in zip(going, await self._tries_of(going), strict=True):
            self._begin(handed, lane, tries)
        return len(going)

    async def _tries_of(self, going: list[Handed]) -> list[int]:
        """How often each was tried before; if that cannot be found out now, they wait again."""
        try:
            return [await self._tries.made(self._number(one), one.delivered.attempt) for one in going]
        except BaseException:
            await self._give_back(tuple(handed.delivered.token for handed in going))
            raise

    def _number(self, handed: Handed) -> int:
        return self._attempts.number(handed.delivered)

    async def _waiting(self, most: int, early: bool) -> list[Handed]:
        """What waits, in the service's format; what it cannot have in that way is over by then, and the next ones come.

        ``early``: also what waits for its next try.
        """
        request = PollRequest(max=most, lease_s=self._attempts.timeout_s + LEASE_BEYOND_S)
        up_to = self._holding.up_to
        while waiting := await self._network.poll(caller_for(self.service), request, self._patience, up_to, early):
            if prepared := await self._network.mediation.prepared(self.service, waiting):
                return prepared
        return []

    def _may_go(self, delivered: Delivered) -> bool:
        """Whether it is still time: leasing takes a while where the database is slow."""
        return self._closed_s() <= 0 and not 0 < delivered.expires_at_us <= self._network.clock.now_us()

    def _lane(self) -> Slots:
        return self._lanes.quick if self._pace.is_quick else self._lanes.slow

    async def _take_slots(self, lane: Slots) -> None:
        most = max(1, self._pace.at_once - len(self._under_way))
        self._slots_taken = await lane.take(self.service.organization, most)

    def _begin(self, handed: Handed, lane: Slots, tries: int) -> asyncio.Task[Made]:
        loop = asyncio.get_running_loop()
        target = self._places.target(tries + 1, self._network.clock.monotonic())
        sender, is_in_transit = handed.delivered.sender_gcid, handed.delivered.in_transit
        before = self._last_of.get(sender) if is_in_transit else None
        task = loop.create_task(self._attempt(handed, target, before))
        if is_in_transit:
            self._last_of[sender] = task
        late = loop.call_later(QUICK_S, self._is_late, task)
        self._under_way[task] = UnderWay(delivered=handed.delivered, lane=lane, late=late)
        task.add_done_callback(self._done)
        return task

    def _is_late(self, task: asyncio.Task[Made]) -> None:
        """It takes too long to be among the quick: it goes over to the slow, and so does what comes after it."""
        self._pace.is_late()
        push, organization = self._under_way[task], self.service.organization
        if push.lane is self._lanes.quick and self._lanes.slow.take_over(organization):
            push.lane = self._lanes.slow
            self._lanes.quick.give(organization, 1)

    async def _attempt(self, handed: Handed, target: Target, before: asyncio.Task[Made] | None) -> Made:
        clock = self._network.clock
        begun = clock.monotonic()
        made = await self._attempts.make(self.service, target, handed, before)
        self._tries.ended(self._number(handed), handed.delivered.attempt, target.attempt)
        now = clock.monotonic()
        if made.is_well:
            is_first, self._has_succeeded = not self._has_succeeded, True
            has_closed = self._places.succeeded(target, now)
            self._pace.succeeded(now - begun)
            self._failing.ended()
            if has_closed or is_first:
                await self._resume()
            return made
        self._places.failed(target, now)
        self._pace.failed()
        if made.is_gone:
            self._is_gone(target)
        if await self._failing.for_s(now) > FAILING_MOST_S:
            await self._attempts.switch_off(self.service, "no push has succeeded for five days")
        return made

    def _is_gone(self, target: Target) -> None:
        self._places.is_gone(target)
        if target.another:
            gone, left = ("backup", "main place") if target.is_backup else ("main place", "backup")
            log.warning("the %s of %s is gone (410): pushes go to its %s", gone, self.service.address, left)

    def _done(self, task: asyncio.Task[Made]) -> None:
        push = self._under_way.pop(task)
        if self._last_of.get(push.delivered.sender_gcid) is task:
            del self._last_of[push.delivered.sender_gcid]
        push.late.cancel()
        push.lane.give(self.service.organization, 1)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a push to %s was left to its lease: %s", self.service.address, type(error).__name__)

    def _pause_s(self) -> float:
        """How long nothing may be pushed: until a window opens, or until the breaker lets somebody try."""
        now = self._network.clock.monotonic()
        return self._closed_s() or self._places.allows_from(now) - now

    def _closed_s(self) -> float:
        service, now_us = self.service, self._network.clock.now_us()
        opening_us = next_opening(service.windows, service.time_zone, now_us)
        return (opening_us - now_us) / 1_000_000 + spread_s(service.windows, service.time_zone, now_us, service.gcid, 0)

    async def _give_back(self, tokens: tuple[str, ...]) -> None:
        settlement = Settlement(tokens=tokens, outcome=Wish.NACK, reason="the push was interrupted")
        try:
            await self._network.settle(caller_for(self.service), settlement)
        except Unavailable as error:
            log.warning("pushes to %s are left to their lease: %s", self.service.address, error)


async def _any_done(under_way: dict[asyncio.Task[Made], UnderWay]) -> None:
    await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
