"""Any order of posts, polls, acknowledgements, returns, answers, ends, resends, batches, time and restarts: a desk does what a
plain model does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from postroad.adapters.desk.local import LocalDesk
from postroad.adapters.desk.shared import SharedDesk
from postroad.adapters.journal.postgres import PostgresJournal
from postroad.adapters.memory.index import MemoryIndex
from postroad.adapters.memory.journal import MemoryJournal
from postroad.core.delivery.mailbox import MAX_HEAD
from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.ids import delivery_number
from postroad.core.model.journal import Entry, MessagePosted
from postroad.core.model.message import MessageType
from postroad.core.model.selector import EVERYTHING, Selector
from postroad.core.projection.unique_keys import answer_key, dead_letter_key, unique_keys
from postroad.ports import Committed, Conflict, Desk, JournalStep, StepOutcome
from postroad.testing.clocks import ManualClock
from postroad.testing.contracts.desk.desk_under_test import (
    BUYER,
    CARRIER,
    SELLER,
    DeskHarness,
    catch_up_index,
    lag_index_behind,
)
from postroad.testing.postgres import PostgresServer

MAX_ATTEMPTS = 3
MAILBOXES = (SELLER, CARRIER)
SELECTORS = (EVERYTHING, EVERYTHING, Selector(topic="bills"), Selector(topic="none"), Selector(sender=BUYER))
NEVER = float("inf")
ENDS = {
    "acknowledged": DeliveryState.DELIVERED,
    "cancelled": DeliveryState.CANCELLED,
    "expired": DeliveryState.EXPIRED,
    "error response": DeliveryState.FAILED,
}
Result = TypeVar("Result")


@dataclass(slots=True)
class Expected:
    """A delivery as the model has it; ``queued`` is what the desk handed out last."""

    number: int
    mailbox: str
    message: MessagePosted
    hop: int
    body: bytes
    journey: int
    content_seq: int
    expires_at_us: int
    origin: int = 0  # of a later round
    state: DeliveryState = DeliveryState.QUEUED
    attempts: int = 0
    available_at: float = 0.0
    leased: bool = False
    queued: Queued | None = None
    claimed: bool = False  # since the desk was opened
    gathered: bool = False

    def is_expired(self, now_us: int) -> bool:
        return 0 < self.expires_at_us <= now_us


class DeskMachine(RuleBasedStateMachine):
    """The model is two dictionaries; subclasses say which desk is compared with it."""

    leases_survive: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.deliveries: dict[int, Expected] = {}
        self.journeys: dict[int, int] = {}  # and at which delivery each is; 0 once its response is on the way back
        self.used: dict[int, int] = {}  # keys of answers and of ends, with the entry that used them
        self.handles: dict[str, tuple[int, str]] = {}
        self.batch_version = 0

    async def open(self) -> Desk:
        raise NotImplementedError

    async def restart_desk(self, desk: Desk) -> Desk:
        raise NotImplementedError

    async def shut(self, desk: Desk) -> None:
        raise NotImplementedError

    def run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        return self.runner.run(coroutine)

    @initialize()
    def begin(self) -> None:
        self.network = DeskHarness(self.run(self.open()), self.clock)

    def teardown(self) -> None:
        if hasattr(self, "network"):
            self.run(self.shut(self.network.desk))
        self.runner.close()

    # --- what users do -------------------------------------------------------------------------------------------

    @rule(
        handle=st.sampled_from(["", "", "", "a", "b", "c"]),
        topic=st.sampled_from(["orders", "bills"]),
        to=st.sampled_from([(SELLER,), (CARRIER,), (SELLER, "?", CARRIER)]),
        via=st.sampled_from(["", "", CARRIER]),
        expires_in_s=st.sampled_from([0, 0, 40]),
        body=st.binary(max_size=4),
    )
    def post(self, handle: str, topic: str, to: tuple[str, ...], via: str, expires_in_s: float, body: bytes) -> None:
        message = self.network.message(handle=handle, topic=topic, to=to, via=via, expires_in_s=expires_in_s)
        outcome = self.run(self.network.submit(JournalStep(message, body, tuple(unique_keys(message)))))
        if handle in self.handles:
            assert outcome == Conflict(unique_keys(message)[0], *self.handles[handle])
            return
        assert isinstance(outcome, Committed)
        if handle:
            self.handles[handle] = (outcome.seq, message.session)
        self._queue(message, outcome.seq, body)

    @rule(
        mailbox=st.sampled_from(MAILBOXES),
        selector=st.sampled_from(SELECTORS),
        most=st.sampled_from([1, 2, 100]),
        lease_s=st.sampled_from([10.0, 30.0]),
    )
    def poll(self, mailbox: str, selector: Selector, most: int, lease_s: float) -> None:
        expected = self._take(mailbox, selector, most, self.clock.monotonic() + lease_s)
        got = self.run(self.network.poll(mailbox, selector, most, lease_s))
        assert [queued.number for queued in got] == [one.number for one in expected]
        for one, queued in zip(expected, got, strict=True):
            assert (queued.attempt, queued.message, queued.hop) == (one.attempts, one.message, one.hop)
            assert (queued.journey, queued.origin) == (one.journey, one.origin)
            assert self.run(self.network.desk.body(queued)) == one.body
            one.queued, one.claimed = queued, True

    @rule(data=st.data())
    @precondition(lambda self: self._claimed())
    def gather(self, data: st.DataObject) -> None:
        """Put what was handed out into a batch, or try to when something of it has ended or is in one."""
        numbers = data.draw(st.lists(st.sampled_from(self._claimed()), min_size=1, max_size=3, unique=True))
        batch = self.network.batch("b", self.batch_version + 1)
        outcome = self.run(self.network.write(self.network.gathered(batch, *numbers)))
        found = [self.deliveries[number] for number in numbers]
        if any(one.gathered or one.state != DeliveryState.QUEUED for one in found):
            assert outcome == Conflict(0, 0, "")
            return
        assert isinstance(outcome, Committed)
        self.batch_version += 1
        for one in found:
            one.gathered, one.leased, one.available_at = True, False, NEVER

    @rule(data=st.data(), change=st.sampled_from(["sent", "taken out"]))
    @precondition(lambda self: self._gathered())
    def end_members(self, data: st.DataObject, change: str) -> None:
        """Members end together with a change of their batch; a change that somebody else has made first counts alone."""
        numbers = tuple(data.draw(st.lists(st.sampled_from(self._gathered()), min_size=1, max_size=3, unique=True)))
        version = data.draw(st.sampled_from([self.batch_version, self.batch_version + 1]))
        batch, is_sent = self.network.batch("b", version), change == "sent"
        network = self.network
        entry = network.acknowledged(numbers, batch=batch) if is_sent else network.ended("failed", numbers, batch=batch)
        outcome = self.run(network.write(entry))
        if version == self.batch_version:
            assert isinstance(outcome, Conflict)
            return
        assert isinstance(outcome, Committed)
        self.batch_version = version
        for number in numbers:
            self._settle(number, DeliveryState.DELIVERED if is_sent else DeliveryState.FAILED)

    @rule(data=st.data())
    @precondition(lambda self: self.deliveries)
    def acknowledge(self, data: st.DataObject) -> None:
        numbers = data.draw(st.lists(st.sampled_from(sorted(self.deliveries)), min_size=1, max_size=3, unique=True))
        assert isinstance(self.run(self.network.acknowledge(*numbers)), Committed)
        for number in numbers:
            self._settle(number, DeliveryState.DELIVERED)

    @rule(
        data=st.data(), state=st.sampled_from([DeliveryState.CANCELLED, DeliveryState.FAILED, DeliveryState.REJECTED])
    )
    @precondition(lambda self: self._waiting())
    def end(self, data: st.DataObject, state: DeliveryState) -> None:
        number = data.draw(st.sampled_from(self._waiting()))
        assert isinstance(self.run(self.network.end(state.name.lower(), number)), Committed)
        self._settle(number, state)

    @rule(data=st.data(), delay_s=st.sampled_from([0.0, 20.0]))
    @precondition(lambda self: self._leased())
    def give_back(self, data: st.DataObject, delay_s: float) -> None:
        number = data.draw(st.sampled_from(self._leased()))
        one = self.deliveries[number]
        assert isinstance(self.run(self.network.give_back(number, delay_s=delay_s, by=one.mailbox)), Committed)
        if not one.gathered:
            one.available_at, one.leased = self.clock.monotonic() + delay_s, False

    @rule(data=st.data())
    @precondition(lambda self: self._handed_out())
    def answer(self, data: st.DataObject) -> None:
        """Respond, or pass the message on where the service is in transit; in time or late, once or again."""
        one = self.deliveries[data.draw(st.sampled_from(self._handed_out()))]
        assert one.queued is not None
        goes_on = one.queued.in_transit
        outcome = self.run(self._pass_on(one.queued) if goes_on else self._respond(one.queued))
        if not self._takes([answer_key(one.number)], outcome):
            return
        assert isinstance(outcome, Committed)
        self.journeys[one.queued.journey] = delivery_number(outcome.seq, 0) if goes_on else 0
        if goes_on:
            next_service = one.queued.hops[one.hop + 1].service
            onward = self._expect(outcome.seq, 0, next_service, one.message, one.hop + 1, b"changed")
            onward.journey, onward.expires_at_us = one.journey, one.expires_at_us
        self._settle(one.number, DeliveryState.DELIVERED)

    @rule(data=st.data(), resends=st.booleans())
    @precondition(lambda self: self._failed())
    def deal_with_dead_letter(self, data: st.DataObject, resends: bool) -> None:
        """Resend one or drop it; or try to, when somebody has dealt with it before."""
        one = self.deliveries[data.draw(st.sampled_from(self._failed()))]
        found = self.run(self.network.desk.find(one.number))
        assert found is not None
        entry = self.network.resent(found.queued, one.content_seq) if resends else self.network.dropped(one.number)
        outcome = self.run(self.network.write(entry))
        if not self._takes([dead_letter_key(one.number)], outcome) or not resends:
            return
        assert isinstance(outcome, Committed)
        again = self._expect(outcome.seq, 0, one.mailbox, one.message, one.hop, one.body)
        again.origin, again.content_seq, again.expires_at_us = one.origin or one.number, one.content_seq, 0
        self.journeys[again.journey] = again.number

    @rule(data=st.data(), how=st.sampled_from(["acknowledged", "cancelled", "expired", "error response"]))
    @precondition(lambda self: self.journeys)
    def end_journey(self, data: st.DataObject, how: str) -> None:
        """End a journey where it is, or try to when it has ended before."""
        journey = data.draw(st.sampled_from(sorted(self.journeys)))
        at = self.journeys[journey]
        entry = self._ending(journey, at, how)
        if not self._takes(unique_keys(entry), self.run(self.network.write(entry))):
            return
        if at:
            self._settle(at, ENDS[how])

    @rule(seconds=st.sampled_from([5.0, 11.0, 31.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def restart(self) -> None:
        self.network.desk = self.run(self.restart_desk(self.network.desk))
        for one in self.deliveries.values():
            one.claimed = False
            if one.leased and not self.leases_survive:
                one.available_at, one.leased = 0.0, False

    @rule(data=st.data())
    @precondition(lambda self: self.deliveries)
    def look_up(self, data: st.DataObject) -> None:
        one = self.deliveries[data.draw(st.sampled_from(sorted(self.deliveries)))]
        found = self.run(self.network.desk.find(one.number))
        assert found is not None
        assert (found.state, found.queued.attempt, found.queued.message) == (one.state, one.attempts, one.message)
        assert (found.queued.journey, found.queued.origin) == (one.journey, one.origin)

    # --- how users do it ---------------------------------------------------------------------------------------

    async def _pass_on(self, queued: Queued) -> StepOutcome:
        return await self.network.pass_on(queued, b"changed")

    async def _respond(self, queued: Queued) -> StepOutcome:
        reply = self.network.message(
            sender=queued.recipient,
            to=(BUYER,),
            kind=MessageType.RESPONSE,
            answers=queued.number,
            journey=queued.journey,
        )
        return await self.network.write(reply)

    def _ending(self, journey: int, at: int, how: str) -> Entry:
        deliveries = (at,) if at else ()
        if how == "error response":
            return self.network.error_response(journey, at)
        if how == "acknowledged":
            return self.network.acknowledged(deliveries, (journey,))
        return self.network.ended(how, deliveries, (journey,))

    # --- the model -----------------------------------------------------------------------------------------------

    def _waiting(self) -> list[int]:
        return [number for number, one in self.deliveries.items() if one.state == DeliveryState.QUEUED]

    def _failed(self) -> list[int]:
        return [number for number, one in self.deliveries.items() if one.state == DeliveryState.FAILED]

    def _leased(self) -> list[int]:
        now = self.clock.monotonic()
        return [number for number in self._waiting() if self.deliveries[number].available_at > now]

    def _claimed(self) -> list[int]:
        return [number for number, one in self.deliveries.items() if one.claimed]

    def _gathered(self) -> list[int]:
        return [number for number, one in self.deliveries.items() if one.gathered]

    def _handed_out(self) -> list[int]:
        return [number for number, one in self.deliveries.items() if one.queued is not None]

    def _takes(self, keys: list[int], outcome: StepOutcome) -> bool:
        """Whether none of these keys was used before, as the desk must have found too."""
        used = next(((key, self.used[key]) for key in keys if key in self.used), None)
        if used is not None:
            assert isinstance(outcome, Conflict)
            assert (outcome.key, outcome.seq) == used
            return False
        assert isinstance(outcome, Committed)
        self.used |= dict.fromkeys(keys, outcome.seq)
        return True

    def _queue(self, message: MessagePosted, seq: int, body: bytes) -> None:
        for ordinal, copy in enumerate(message.copies):
            if not copy.code:
                self._expect(seq, ordinal, copy.hops[0].service, message, 0, body)
                self.journeys[delivery_number(seq, ordinal)] = delivery_number(seq, ordinal)

    def _expect(self, seq: int, ordinal: int, mailbox: str, message: MessagePosted, hop: int, body: bytes) -> Expected:
        number = delivery_number(seq, ordinal)
        one = Expected(number, mailbox, message, hop, body, number, seq, message.expires_at_us)
        self.deliveries[number] = one
        return one

    def _settle(self, number: int, state: DeliveryState) -> None:
        one = self.deliveries[number]
        if one.state == DeliveryState.QUEUED:
            one.state = state

    def _take(self, mailbox: str, selector: Selector, most: int, until: float) -> list[Expected]:
        now, now_us = self.clock.monotonic(), self.clock.now_us()
        taken: list[Expected] = []
        for one in (self.deliveries[number] for number in sorted(self._waiting())):
            if one.mailbox != mailbox or one.available_at > now or not selector.matches(one.message):
                continue
            if len(taken) == most:
                break
            if one.is_expired(now_us):
                one.state = DeliveryState.EXPIRED
            elif one.attempts >= MAX_ATTEMPTS:
                one.state = DeliveryState.FAILED
            else:
                one.attempts, one.available_at = one.attempts + 1, until
                one.leased = True
                taken.append(one)
        return taken


class LocalMachine(DeskMachine):
    head_most: ClassVar[int] = MAX_HEAD

    async def open(self) -> Desk:
        self.journal, self.index = MemoryJournal(), MemoryIndex()
        return await self._desk()

    async def restart_desk(self, desk: Desk) -> Desk:
        await desk.close()
        await catch_up_index(self.journal, self.index)
        return await self._desk()

    async def shut(self, desk: Desk) -> None:
        await desk.close()

    async def _desk(self) -> Desk:
        desk = LocalDesk(
            self.journal,
            self.index,
            self.clock,
            wait_for_entry=self._wait_for_entry,
            attempts_most=MAX_ATTEMPTS,
            head_most=self.head_most,
        )
        await desk.open()
        return desk

    async def _wait_for_entry(self, seq: int) -> None:
        await lag_index_behind(self.journal, self.index, seq)


class LongQueueMachine(LocalMachine):
    """Most of each queue is left to an index that knows no more than it was asked for."""

    head_most = 2


class SharedMachine(DeskMachine):
    leases_survive = True
    server: ClassVar[PostgresServer]
    _numbers = itertools.count(1)

    async def open(self) -> Desk:
        self.database = f"machine_{next(self._numbers)}"
        self.dsn = self.server.create_database(self.database)
        return await self._desk()

    async def restart_desk(self, desk: Desk) -> Desk:
        await desk.close()
        await self.journal.close()
        return await self._desk()

    async def shut(self, desk: Desk) -> None:
        await desk.close()
        await self.journal.close()
        self.server.drop_database(self.database)

    async def _desk(self) -> Desk:
        self.journal, self.index = await PostgresJournal.open(self.dsn), MemoryIndex()
        desk = SharedDesk(
            self.journal, self.index, self.clock, wait_for_entry=self._wait_for_entry, attempts_most=MAX_ATTEMPTS
        )
        await desk.open()
        return desk

    async def _wait_for_entry(self, seq: int) -> None:
        await catch_up_index(self.journal, self.index)


@pytest.mark.req("D2", "D6")
@pytest.mark.parametrize("machine", [LocalMachine, LongQueueMachine])
def test_the_local_desk_does_what_the_model_does(machine: type[LocalMachine]) -> None:
    run_state_machine_as_test(machine, settings=settings(max_examples=150, stateful_step_count=40))


@pytest.mark.req("D2", "D6", "O3")
def test_the_shared_desk_does_what_the_model_does(postgres: PostgresServer) -> None:
    machine = type("Machine", (SharedMachine,), {"server": postgres})
    run_state_machine_as_test(machine, settings=settings(max_examples=25, stateful_step_count=30))
