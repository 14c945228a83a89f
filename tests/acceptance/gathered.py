"""Batches for tests, written down as a batcher would have done it: no policy and no clock decides when what happens."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from postroad.core.batching.moves import add_member, close_batch, mark_assembled, mark_sent, open_batch, suspend_batch
from postroad.core.model import ids
from postroad.core.model.asset import Hosting
from postroad.core.model.batch import Batch, BatchMember, Criterion
from postroad.core.model.batch_policy import Batching, BatchPolicy
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Visibility
from postroad.core.model.ids import delivery_number
from postroad.core.model.interchange import AnsweredMember, AssembledInterchange, DocumentPosition, DrawnNumber
from postroad.core.model.journal import (
    BatchesChanged,
    DeliveriesAcknowledged,
    Entry,
    InterchangeAnswered,
    MessagePosted,
)
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.route import Copy, Hop
from postroad.flow.concurrency.commit import commit_step
from postroad.ports import Committed, JournalStep
from postroad.testing.network import MemoryNetwork

POLICY = BatchPolicy(count=4, age_s=3600)


@dataclass(slots=True, kw_only=True)
class Gathering:
    """A batcher of a house and its latest batch; every move is an entry."""

    running: MemoryNetwork
    sender: Caller
    batcher: Caller
    partner: Caller
    batch: Batch
    sessions: list[str] = field(default_factory=list)
    deliveries: list[int] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.batch.id

    async def another(self, count: int) -> Gathering:
        """One more open batch of the same batcher."""
        return await _gathered(self.running, self.sender, self.batcher, self.partner, count)

    async def post(self, place: int) -> int:
        """A message to the batcher, and its delivery's number."""
        network = self.running.network
        part = Part(id="1", content_type="application/edi-x12", data=f"secret order {place}".encode())
        message = Message(to=(Recipient(_gcid(self.batcher)),), type=MessageType.NOTIFICATION, parts=(part,))
        posted = await network.post(self.sender, message)
        history = await network.trace(posted.session, None)
        assert history is not None
        self.sessions.append(posted.session)
        return history.messages[0].copies[0].stops[0].delivery

    async def close(self) -> None:
        why = f"{self.batch.count} of {self.batch.count} messages"
        await self.changed("closed", close_batch(self.batch, Criterion.COUNT, why, self.now_us))

    async def suspend(self, why: str) -> None:
        await self.changed("suspended", suspend_batch(self.batch, why, self.now_us))

    async def assemble(self) -> str:
        """Posts the interchange, and says under which session."""
        network = self.running.network
        session = ids.session(self.now_us, network.randomness.bytes(10))
        after = self._raised(mark_assembled(self.batch, session, self.now_us))
        partner = _gcid(self.partner)
        filed = [
            DocumentPosition(number, "000000042", "7", "850", f"{place:04}")
            for place, number in enumerate(self.deliveries)
        ]
        numbers = (DrawnNumber("x12:mybiz:MYBIZ:ACME:interchange", 42), DrawnNumber("x12:mybiz:MYBIZ:ACME:group", 7))
        posted = MessagePosted(
            at_us=self.now_us, session=session, transaction=session, sender=_gcid(self.batcher),
            type=MessageType.NOTIFICATION, topic="", size=0, form="interchange", expires_at_us=0, directory=1, parts=(),
            copies=(Copy("partner", (Hop(partner),)),), assembled=AssembledInterchange("x12", numbers, after, tuple(filed)),
        )  # fmt: skip
        seq = await self._written(posted)
        self.batch = replace(after, delivery=delivery_number(seq, 0))
        await self.changed("assembled", self.batch)
        return session

    async def send(self) -> None:
        self.batch = self._raised(mark_sent(self.batch, self.now_us))
        numbers = tuple(self.deliveries)
        await self._written(DeliveriesAcknowledged(self.now_us, _gcid(self.batcher), numbers, batch=self.batch))

    async def answer(self, verdict: str, *members: AnsweredMember) -> None:
        entry = InterchangeAnswered(self.now_us, _gcid(self.partner), "c" * 32, "x12", self.id, verdict, members)
        await self._written(entry)

    async def changed(self, what: str, batch: Batch, *members: BatchMember) -> None:
        self.batch = self._raised(batch)
        gcid = _gcid(self.batcher)
        entry = BatchesChanged(
            self.now_us, gcid, gcid, what, (self.batch,), self.batch.id if members else "", tuple(members)
        )
        await self._written(entry)

    @property
    def now_us(self) -> int:
        return self.running.network.clock.now_us()

    def _raised(self, batch: Batch) -> Batch:
        return replace(batch, version=self.batch.version + 1)

    async def _written(self, entry: Entry) -> int:
        outcome = await commit_step(self.running.network.desk, JournalStep(entry, reserve=True))
        assert isinstance(outcome, Committed)
        return outcome.seq


async def gathering(
    running: MemoryNetwork, house: str, sender: Caller, count: int = 3, *, ordered: bool = False
) -> Gathering:
    """A batcher of the house with so many messages of the sender's in an open batch."""
    partner = await running.register(f"{house}/partner")
    batching = Batching(sends_to=f"{house}/partner", standard="x12", policy=POLICY, ordered=ordered)
    batcher = await running.register(
        f"{house}/batched", hosted=Hosting.BATCHER, batching=batching, visibility=Visibility.PUBLIC
    )
    return await _gathered(running, sender, batcher, partner, count)


async def _gathered(running: MemoryNetwork, sender: Caller, batcher: Caller, partner: Caller, count: int) -> Gathering:
    network = running.network
    now_us = network.clock.now_us()
    batch = open_batch(ids.short(now_us, network.randomness.bytes(4)), ("group", "north"), now_us, kind="850")
    batch = replace(batch, service=_gcid(batcher))
    found = Gathering(running=running, sender=sender, batcher=batcher, partner=partner, batch=batch)
    members = [BatchMember(number=await found.post(place), bytes=14, kind="850") for place in range(count)]
    for member in members:
        batch = add_member(batch, member, found.now_us)
    found.deliveries.extend(member.number for member in members)
    await found.changed("joined", batch, *members)
    return found


def _gcid(caller: Caller) -> str:
    assert caller.service is not None
    return caller.service.gcid
