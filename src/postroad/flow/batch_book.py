"""Batches as the journal has them: read from the index, and changed so that two who do it at the same time collide.

Kept rules: the index is the truth, whatever a batcher remembers. Every change raises the batch's version and is written under
that version's key; whoever loses reads the batch again. A member leaves its batch with the very entry that ends its delivery.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.msgpack import Decoder
from msgspec.structs import replace

from postroad.core.batching.moves import left, sent
from postroad.core.delivery.waiting import found_from_row
from postroad.core.model.batch import BATCH_MOVES, Batch, BatchMember
from postroad.core.model.delivery import Queued, State
from postroad.core.model.journal import BatchesChanged, DeliveriesAcknowledged, DeliveriesEnded
from postroad.core.projection.keys import answer_key, batch_key, journey_key
from postroad.core.projection.tables import TABLES
from postroad.flow.batch_letters import put_aside, resent_as
from postroad.flow.commit import committed
from postroad.ports import Clock, Conflict, Desk, IndexReader, Step

PAGE = 500  # members read at a time
REMEMBERED_MOST = 100_000  # members of batches that are being sent
TRIES = 10  # while others change a batch
FACTS = TABLES["batch"].index("facts")
LAST_ID = "g"  # sorts behind every id, which are hexadecimal

Changed = Callable[[int], None]  # told which delivery has come to its end; 0: somebody has changed a batch

_batches, _members = Decoder(Batch), Decoder(BatchMember)


class Gathered(NamedTuple):
    """All that is needed of a member to end it: its delivery, and the journey that ends with it. There may be very many."""

    number: int
    journey: int


class Held(Struct, gc=False, frozen=True):
    """A message that is in a batch and has not come to its end."""

    member: BatchMember
    queued: Queued

    @property
    def gathered(self) -> Gathered:
        return Gathered(self.queued.number, self.queued.journey)


class BatchBook:
    def __init__(self, desk: Desk, index: IndexReader, clock: Clock, indexed: Callable[[], Awaitable[None]]) -> None:
        self._desk = desk
        self._index = index
        self._clock = clock
        self._indexed = indexed
        self._listeners: dict[str, Changed] = {}
        self._watched: dict[int, str] = {}
        self._known: dict[tuple[str, int], list[Gathered]] = {}  # members, by batch and version
        self._known_members = 0

    # --- who wants to know ------------------------------------------------------------------------------------------

    def listen(self, gcid: str, changed: Changed | None) -> None:
        """Tell the batcher of this service when somebody else changes its batches; None: nobody listens any more."""
        if changed is None:
            self._listeners.pop(gcid, None)
        else:
            self._listeners[gcid] = changed

    def changed(self, gcid: str, delivery: int = 0) -> None:
        if (listener := self._listeners.get(gcid)) is not None:
            listener(delivery)

    def watch(self, delivery: int, gcid: str) -> None:
        """Tell the batcher of this service when the delivery of its interchange comes to its end here."""
        self._watched[delivery] = gcid

    def unwatch(self, delivery: int) -> None:
        self._watched.pop(delivery, None)

    def settled(self, deliveries: Sequence[int]) -> None:
        """These deliveries may have come to their end."""
        if self._watched:
            for number in deliveries:
                if (gcid := self._watched.pop(number, "")) != "":
                    self.changed(gcid, number)

    # --- reading ----------------------------------------------------------------------------------------------------

    async def find(self, batch_id: str) -> Batch | None:
        return await self._first("batch", batch_id)

    async def of_delivery(self, number: int) -> Batch | None:
        """The batch that a delivery has joined."""
        return await self._first("batch_of", number)

    async def newest(self, gcid: str) -> Batch | None:
        return await self._first("batches_at", gcid, LAST_ID, 1)

    async def unsettled(self, gcid: str) -> list[Batch]:
        await self._indexed()
        return [_batches.decode(row[FACTS]) for row in await self._index.query("unsettled_batches", gcid)]

    async def members(self, batch_id: str) -> AsyncIterator[list[Held]]:
        """Those that are in it, page by page, in the order of arrival; the index must have caught up before."""
        rows = await self._index.query("batch_members", batch_id, 0, PAGE)
        while rows:
            yield [held for row in rows if (held := self._held(row)) is not None]
            is_last = len(rows) < PAGE
            rows = [] if is_last else await self._index.query("batch_members", batch_id, rows[-1][1], PAGE)

    async def gathered(self, batch: Batch) -> list[Gathered]:
        """All that are in it, likewise."""
        known = self._known.pop((batch.id, batch.version), [])
        self._known_members -= len(known)
        return known or [held.gathered async for page in self.members(batch.id) for held in page]

    def remember(self, batch: Batch, members: list[Gathered]) -> None:
        """These are in the batch as it is now; nobody leaves one that is assembled, so it need not be read again."""
        self._known[batch.id, batch.version] = members
        self._known_members += len(members)
        while self._known_members > REMEMBERED_MOST:
            self._known_members -= len(self._known.pop(next(iter(self._known))))

    async def member(self, batch_id: str, number: int) -> Held | None:
        """One that is in it; the index must have caught up before."""
        rows = await self._index.query("batch_members", batch_id, number - 1, 1)
        return self._held(rows[0]) if rows and rows[0][1] == number else None

    async def lets_go(self, batch: Batch) -> bool:
        """Whether a member can leave it now: not while its interchange is on its way, be it as a dead letter that is resent."""
        return may_leave(batch) and not (batch.interchange and await resent_as(self._index, batch))

    # --- writing ----------------------------------------------------------------------------------------------------

    async def write(
        self, by: str, what: str, batches: Sequence[Batch], joined: Sequence[BatchMember] = (), reason: str = ""
    ) -> list[Batch] | None:
        """Make changes of batches durable, the last of them joined by these members; None: somebody was quicker."""
        raised = [next_version(batch) for batch in batches]
        entry = BatchesChanged(
            self._clock.now_us(),
            by,
            raised[-1].service,
            what,
            tuple(raised),
            raised[-1].id if joined else "",
            tuple(joined),
            reason,
        )
        keys = tuple([batch_key(batch) for batch in raised])
        return raised if await self._is_written(Step(entry, None, keys, True)) else None

    async def end(self, by: str, state: str, reason: str, after: Batch, members: Sequence[Gathered]) -> Batch | None:
        """End members of a batch, which is then as given; None: somebody was quicker."""
        if not await put_aside(self._desk, self._index, self._clock, after, by):
            self.changed(after.service, after.delivery)
            return None
        after = next_version(after)
        numbers = tuple([one.number for one in members])
        journeys = _journeys(members)
        entry = DeliveriesEnded(self._clock.now_us(), by, state, reason, numbers, journeys, after)
        answers = [answer_key(one.number) for one in members if one.journey]
        keys = (*map(journey_key, journeys), *answers, batch_key(after))
        if not await self._is_written(Step(entry, None, keys, True, numbers)):
            return None
        self.changed(after.service)
        return after

    async def sent(self, batch: Batch, members: Sequence[Gathered]) -> Batch | None:
        """Its interchange has been delivered, and so have its members; None: somebody was quicker."""
        after = next_version(sent(batch, self._clock.now_us()))
        numbers = tuple([one.number for one in members])
        journeys = _journeys(members)
        entry = DeliveriesAcknowledged(self._clock.now_us(), batch.service, numbers, journeys, after)
        keys = (*map(journey_key, journeys), batch_key(after))
        return after if await self._is_written(Step(entry, None, keys, True)) else None

    async def leave(self, number: int, by: str, state: str, reason: str) -> bool | None:
        """End a delivery that waits in a batch; None: it is in none, False: it cannot leave it now."""
        batch = await self.of_delivery(number)
        return None if batch is None else await self.leave_together(batch.id, [number], by, state, reason)

    async def leave_together(self, batch_id: str, numbers: Sequence[int], by: str, state: str, reason: str) -> bool:
        """End deliveries that wait in a batch; False: not all of them can leave it now."""
        for _ in range(TRIES):
            batch = await self.find(batch_id)
            found = [await self.member(batch_id, number) for number in numbers]
            held = [one for one in found if one is not None]
            if batch is None or not may_leave(batch) or not held:
                return False
            after = batch
            for one in held:
                after = left(after, one.member, self._clock.now_us())
            if await self.end(by, state, reason, after, [one.gathered for one in held]) is not None:
                return len(held) == len(numbers)
        return False

    async def _is_written(self, step: Step) -> bool:
        return not isinstance(await committed(self._desk, step), Conflict)

    async def _first(self, query: str, *parameters: Any) -> Batch | None:
        await self._indexed()
        rows = await self._index.query(query, *parameters)
        return _batches.decode(rows[0][FACTS]) if rows else None

    def _held(self, row: tuple[Any, ...]) -> Held | None:
        found = found_from_row(row[1:], now=self._clock.monotonic(), now_us=self._clock.now_us())
        return Held(_members.decode(row[0]), found.queued) if found.state is State.QUEUED else None


def may_leave(batch: Batch) -> bool:
    return "left" in BATCH_MOVES[batch.state]


def next_version(batch: Batch) -> Batch:
    """The batch as it is written down the next time."""
    return replace(batch, version=batch.version + 1)


def _journeys(members: Sequence[Gathered]) -> tuple[int, ...]:
    return tuple([one.journey for one in members if one.journey])
