"""A desk under test, with a manual clock and short methods for what its users do."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from itertools import count

import pytest

from postroad.core.model.batch import Batch, BatchMember, BatchState
from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import (
    AnsweredDelivery,
    BatchesChanged,
    DeliveriesAcknowledged,
    DeliveriesDropped,
    DeliveriesEnded,
    DeliveriesReturned,
    DeliveryAttempted,
    DeliveryResent,
    Entry,
    InvocationReturned,
    JourneyEnding,
    MessagePosted,
    ReturnedContext,
)
from postroad.core.model.message import MessageType, Property
from postroad.core.model.part_facts import PartFacts
from postroad.core.model.route import Copy, Hop
from postroad.core.model.selector import EVERYTHING, Selector
from postroad.core.projection.project import project
from postroad.core.projection.unique_keys import unique_keys
from postroad.ports import Clock, Committed, Desk, Index, Journal, JournalStep, StepOutcome
from postroad.testing.clocks import ManualClock

BUYER, SELLER, CARRIER = "00000000000000b1", "00000000000000e1", "00000000000000c1"
LEASE_S = 30.0


class DeskHarness:
    """A desk under test, with short methods for what its users do."""

    _sessions = count(1)

    def __init__(self, desk: Desk, clock: ManualClock) -> None:
        self.desk = desk
        self.clock = clock

    def message(
        self,
        *,
        to: tuple[str, ...] = (SELLER,),
        sender: str = BUYER,
        handle: str = "",
        topic: str = "orders",
        kind: MessageType = MessageType.REQUEST,
        expires_in_s: float = 0,
        properties: tuple[Property, ...] = (),
        answers: int = 0,
        journey: int = 0,
        ends: JourneyEnding | None = None,
        via: str = "",
        assembled: AssembledInterchange | None = None,
    ) -> MessagePosted:
        """Return a post as the flow writes it; a recipient ``?`` is a refused one."""
        session = f"{next(self._sessions):032x}"
        hops = (Hop(via),) if via else ()
        return MessagePosted(
            at_us=self.clock.now_us(),
            session=session,
            transaction=session,
            sender=sender,
            type=kind,
            topic=topic,
            size=10,
            form="json",
            expires_at_us=self.clock.now_us() + int(expires_in_s * 1_000_000) if expires_in_s else 0,
            directory=1,
            parts=(PartFacts("order", "text/plain", 5),),
            copies=tuple(Copy(gcid, (*hops, Hop(gcid)), "recipient.unknown" * (gcid == "?")) for gcid in to),
            handle=handle,
            properties=properties,
            answers=AnsweredDelivery(answers, session, journey=journey) if answers else None,
            ends=ends,
            assembled=assembled,
        )

    def error_response(self, journey: int, delivery: int, state: str = "failed") -> MessagePosted:
        """Return the entry by which the network ends a journey at this delivery with an error response."""
        return self.message(
            sender=SELLER,
            to=(BUYER,),
            kind=MessageType.RESPONSE,
            answers=delivery,
            journey=journey,
            ends=JourneyEnding(journey, delivery, state, "for a test"),
        )

    def ended(
        self, state: str, deliveries: tuple[int, ...], journeys: tuple[int, ...] = (), batch: Batch | None = None
    ) -> DeliveriesEnded:
        return DeliveriesEnded(
            at_us=self.clock.now_us(),
            by="network",
            state=state,
            reason="for a test",
            deliveries=deliveries,
            journeys=journeys,
            batch=batch,
        )

    def acknowledged(
        self, deliveries: tuple[int, ...], journeys: tuple[int, ...] = (), batch: Batch | None = None
    ) -> DeliveriesAcknowledged:
        return DeliveriesAcknowledged(
            at_us=self.clock.now_us(), by=SELLER, deliveries=deliveries, journeys=journeys, batch=batch
        )

    async def write(self, entry: Entry) -> StepOutcome:
        """Submit an entry with all of its keys."""
        body = b"" if isinstance(entry, MessagePosted) else None
        return await self.submit(JournalStep(entry, body, tuple(unique_keys(entry)), reserve=True))

    async def submit(self, step: JournalStep) -> StepOutcome:
        future: asyncio.Future[StepOutcome] = asyncio.get_running_loop().create_future()
        self.desk.submit(step, future.set_result)
        return await future

    async def post(self, message: MessagePosted, body: bytes = b"hello") -> int:
        """Post and return the entry's number."""
        outcome = await self.submit(JournalStep(message, body, tuple(unique_keys(message))))
        assert isinstance(outcome, Committed), outcome
        return outcome.seq

    async def poll(
        self,
        mailbox: str = SELLER,
        selector: Selector = EVERYTHING,
        most: int = 100,
        lease_s: float = LEASE_S,
        early: bool = False,
    ) -> list[Queued]:
        return await self.desk.claim(mailbox, selector, most, lease_s, early=early)

    async def fail_push(self, *numbers: int, delay_s: float, status: int = 503) -> StepOutcome:
        """Record that the push of these deliveries failed; the next one is due after the delay."""
        entry = DeliveryAttempted(
            at_us=self.clock.now_us(),
            by=SELLER,
            deliveries=numbers,
            status=status,
            duration_ms=12,
            fault="busy",
            delay_s=delay_s,
        )
        return await self.submit(JournalStep(entry, reserve=True))

    async def acknowledge(self, *numbers: int, by: str = SELLER) -> StepOutcome:
        return await self.submit(
            JournalStep(DeliveriesAcknowledged(at_us=self.clock.now_us(), by=by, deliveries=numbers), reserve=True)
        )

    async def give_back(self, *numbers: int, delay_s: float = 0.0, by: str = SELLER) -> StepOutcome:
        entry = DeliveriesReturned(
            at_us=self.clock.now_us(), by=by, reason="not now", delay_s=delay_s, deliveries=numbers
        )
        return await self.submit(JournalStep(entry, reserve=True))

    async def end(self, state: str, *numbers: int) -> StepOutcome:
        return await self.submit(JournalStep(self.ended(state, numbers), reserve=True))

    async def pass_on(
        self,
        queued: Queued,
        body: bytes = b"changed",
        hops: tuple[Hop, ...] = (),
        logical: tuple[Hop, ...] = (),
        returned: tuple[ReturnedContext, ...] = (),
    ) -> StepOutcome:
        """Return the message as an in-transit service, so that it continues to its next hop, optionally on a new route."""
        entry = InvocationReturned(
            at_us=self.clock.now_us(),
            delivery=queued.number,
            session=f"{next(self._sessions):032x}",
            transaction=queued.message.transaction,
            by=queued.recipient,
            message=queued.message_seq,
            copy=queued.copy,
            hop=queued.hop + 1,
            next=(hops or queued.hops)[queued.hop + 1].service,
            size=len(body),
            expires_at_us=queued.expires_at_us,
            parts=(PartFacts("order", "text/html", len(body)),),
            journey=queued.journey,
            hops=hops,
            logical=logical,
            returned=returned,
        )
        return await self.submit(JournalStep(entry, body, tuple(unique_keys(entry))))

    def resent(self, dead: Queued, content_seq: int = 0, expires_in_s: float = 0) -> DeliveryResent:
        """Return the entry by which the flow resends a dead letter."""
        return DeliveryResent(
            at_us=self.clock.now_us(),
            by="ada@buyer.example",
            reason="for a test",
            delivery=dead.number,
            origin=dead.origin or dead.number,
            session=dead.message.session,
            transaction=dead.message.transaction,
            sender=dead.message.sender,
            message=dead.message_seq,
            copy=dead.copy,
            hop=dead.hop,
            content=content_seq or dead.message_seq,
            next=dead.recipient,
            expires_at_us=self.clock.now_us() + int(expires_in_s * 1_000_000) if expires_in_s else 0,
            followed=dead.journey > 0,
            answer=dead.message.answers is not None,
        )

    def dropped(self, *dead: int) -> DeliveriesDropped:
        return DeliveriesDropped(
            at_us=self.clock.now_us(), by="ada@buyer.example", reason="for a test", deliveries=dead
        )

    def batch(self, id_: str, version: int = 1, state: BatchState = BatchState.OPEN) -> Batch:
        now_us = self.clock.now_us()
        return Batch(
            id=id_, key=(), state=state, opened_at_us=now_us, latest_at_us=now_us, changed_at_us=now_us, service=SELLER,
            version=version,
        )  # fmt: skip

    def gathered(self, batch: Batch, *numbers: int) -> BatchesChanged:
        """Return the entry by which these deliveries join the batch."""
        members = tuple(BatchMember(number=number, bytes=5) for number in numbers)
        return BatchesChanged(
            at_us=self.clock.now_us(),
            by=SELLER,
            service=SELLER,
            what="joined",
            batches=(batch,),
            batch=batch.id,
            joined=members,
        )

    async def state(self, number: int) -> DeliveryState:
        found = await self.desk.find(number)
        assert found is not None
        return found.state


async def catch_up_index(journal: Journal, index: Index) -> None:
    """Update an index to the journal's head, for desks that are tested without an index process."""
    while (batch := await journal.read((await index.position()).seq)).records:
        await index.apply(project(batch.records), batch.head)


async def lag_index_behind(journal: Journal, index: Index, seq: int) -> None:
    """Update an index only up to this entry, like a late index process."""
    while (at := (await index.position()).seq) < seq:
        batch = await journal.read(at, 1)
        await index.apply(project(batch.records), batch.head)


def delivery_numbers(deliveries: list[Queued]) -> list[int]:
    return [queued.number for queued in deliveries]


class DeskUnderTest(ABC):
    """Base class of desk tests; each test has a desk of its own, at ``network``."""

    @abstractmethod
    async def open(self, clock: Clock, attempts_most: int) -> Desk:
        """Return a new desk over an empty journal."""

    @abstractmethod
    async def restart(self, desk: Desk) -> Desk:
        """Return a new desk over the durable data of the old one."""

    @abstractmethod
    def stalled(self, desk: Desk) -> AbstractAsyncContextManager[None]:
        """Prevent all commits while the context is active."""

    @abstractmethod
    async def shut(self, desk: Desk) -> None:
        """Close the desk and everything opened for it."""

    @pytest.fixture
    async def network(self) -> AsyncIterator[DeskHarness]:
        clock = ManualClock()
        network = DeskHarness(await self.open(clock, attempts_most=3), clock)
        yield network
        await self.shut(network.desk)
