"""Batches as stored: read from the index, and changed under optimistic version checks.

Rules: the index is the truth, whatever a batcher has in memory. Every change raises the batch's version and is
written under that version's key; a writer that loses a conflict reads the batch again. A member leaves its batch with
the entry that ends its delivery.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.msgpack import Decoder
from msgspec.structs import replace

from postroad.core.batching.moves import mark_sent, remove_member
from postroad.core.delivery.reasons import MAX_REASON, reason_text, stored_reason
from postroad.core.model.batch import BATCH_MOVES, Batch, BatchMember
from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.journal import BatchesChanged, DeliveriesAcknowledged, DeliveriesEnded
from postroad.core.model.reason import Reason
from postroad.core.projection.delivery_rows import found_from_row
from postroad.core.projection.tables import TABLES
from postroad.core.projection.unique_keys import answer_key, batch_key, journey_key
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.plumbing import Plumbing
from postroad.flow.registries.interchange_dead_letters import drop_interchange_letter, find_resent_delivery
from postroad.ports import Conflict, JournalStep

PAGE = 500  # members read at a time
MAX_REMEMBERED = 100_000  # members of batches that are being sent
TRIES = 10  # while others change a batch
FACTS = TABLES["batch"].index("facts")
LAST_ID = "g"  # sorts behind every id, which are hexadecimal

BatchListener = Callable[[int], None]  # called with the delivery that has ended; 0: a batch was changed

_batches, _members = Decoder(Batch), Decoder(BatchMember)


class MemberJourney(NamedTuple):
    """A batch member's delivery number and the journey that ends with it; small, since a batch may have very many."""

    number: int
    journey: int


class PendingMember(Struct, gc=False, frozen=True):
    """A batch member that has not ended yet, with its delivery."""

    member: BatchMember
    queued: Queued

    @property
    def gathered(self) -> MemberJourney:
        return MemberJourney(self.queued.number, self.queued.journey)


class BatchStore:
    """Reads and changes batches, and notifies their batchers of changes."""

    def __init__(self, plumbing: Plumbing) -> None:
        self._desk, self._index, self._clock = plumbing.desk, plumbing.index, plumbing.clock
        self._wait_until_indexed = plumbing.wait_until_indexed
        self._listeners: dict[str, BatchListener] = {}
        self._watched: dict[int, str] = {}
        self._known: dict[tuple[str, int], list[MemberJourney]] = {}  # members, by batch and version
        self._known_members = 0

    # --- who wants to know ------------------------------------------------------------------------------------------

    def listen(self, gcid: str, changed: BatchListener | None) -> None:
        """Call ``changed`` when another party changes batches of this service; None removes the listener."""
        if changed is None:
            self._listeners.pop(gcid, None)
        else:
            self._listeners[gcid] = changed

    def note_change(self, gcid: str, delivery: int = 0) -> None:
        if (listener := self._listeners.get(gcid)) is not None:
            listener(delivery)

    def watch(self, delivery: int, gcid: str) -> None:
        """Notify the batcher of this service when this interchange delivery ends on this node."""
        self._watched[delivery] = gcid

    def unwatch(self, delivery: int) -> None:
        self._watched.pop(delivery, None)

    def notify_ended(self, deliveries: Sequence[int]) -> None:
        """Notify the batchers that watch these deliveries that they may have ended."""
        if self._watched:
            for number in deliveries:
                if (gcid := self._watched.pop(number, "")) != "":
                    self.note_change(gcid, number)

    # --- reading ----------------------------------------------------------------------------------------------------

    async def find(self, batch_id: str) -> Batch | None:
        return await self._first("batch", batch_id)

    async def of_delivery(self, number: int) -> Batch | None:
        """Return the batch that a delivery has joined."""
        return await self._first("batch_of", number)

    async def newest(self, gcid: str) -> Batch | None:
        return await self._first("batches_at", gcid, LAST_ID, 1)

    async def list_unsettled(self, gcid: str) -> list[Batch]:
        await self._wait_until_indexed()
        return [_batches.decode(row[FACTS]) for row in await self._index.query("unsettled_batches", gcid)]

    async def members(self, batch_id: str) -> AsyncIterator[list[PendingMember]]:
        """Yield the members that have not ended, page by page, in order of arrival; the index must have caught up."""
        rows = await self._index.query("batch_members", batch_id, 0, PAGE)
        while rows:
            yield [held for row in rows if (held := self._held(row)) is not None]
            is_last = len(rows) < PAGE
            rows = [] if is_last else await self._index.query("batch_members", batch_id, rows[-1][1], PAGE)

    async def list_gathered(self, batch: Batch) -> list[MemberJourney]:
        """Return all members that have not ended; the index must have caught up."""
        known = self._known.pop((batch.id, batch.version), [])
        self._known_members -= len(known)
        return known or [held.gathered async for page in self.members(batch.id) for held in page]

    def remember(self, batch: Batch, members: list[MemberJourney]) -> None:
        """Cache the members of an assembled batch; members cannot leave it, so they need not be read again."""
        self._known[batch.id, batch.version] = members
        self._known_members += len(members)
        while self._known_members > MAX_REMEMBERED:
            self._known_members -= len(self._known.pop(next(iter(self._known))))

    async def member(self, batch_id: str, number: int) -> PendingMember | None:
        """Return one member that has not ended; the index must have caught up."""
        rows = await self._index.query("batch_members", batch_id, number - 1, 1)
        return self._held(rows[0]) if rows and rows[0][1] == number else None

    async def can_remove_member(self, batch: Batch) -> bool:
        """Whether a member can be removed now; False while the interchange is in flight, including a resent dead letter."""
        return can_leave(batch) and not (batch.interchange and await find_resent_delivery(self._index, batch))

    # --- writing ----------------------------------------------------------------------------------------------------

    async def write(
        self, by: str, what: str, batches: Sequence[Batch], joined: Sequence[BatchMember] = (), reason: str = ""
    ) -> list[Batch] | None:
        """Store changes of batches, the last one with its new members; None on a version conflict."""
        raised = [raise_version(batch) for batch in batches]
        entry = BatchesChanged(
            at_us=self._clock.now_us(),
            by=by,
            service=raised[-1].service,
            what=what,
            batches=tuple(raised),
            batch=raised[-1].id if joined else "",
            joined=tuple(joined),
            reason=reason,
        )
        keys = tuple([batch_key(batch) for batch in raised])
        return raised if await self._is_written(JournalStep(entry, None, keys, True)) else None

    async def end(
        self, by: str, state: str, reason: Reason, after: Batch, members: Sequence[MemberJourney]
    ) -> Batch | None:
        """End members of a batch and store the batch as given; None on a version conflict."""
        if not await drop_interchange_letter(self._desk, self._index, self._clock, after, by):
            self.note_change(after.service, after.delivery)
            return None
        after = raise_version(after)
        numbers = tuple([one.number for one in members])
        journeys = _journeys(members)
        entry = DeliveriesEnded(
            at_us=self._clock.now_us(),
            by=by,
            state=state,
            reason=reason_text(reason)[:MAX_REASON],
            deliveries=numbers,
            journeys=journeys,
            batch=after,
            why=stored_reason(reason),
        )
        answers = [answer_key(one.number) for one in members if one.journey]
        keys = (*map(journey_key, journeys), *answers, batch_key(after))
        if not await self._is_written(JournalStep(entry, None, keys, True, numbers)):
            return None
        self.note_change(after.service)
        return after

    async def save_sent(self, batch: Batch, members: Sequence[MemberJourney]) -> Batch | None:
        """Store that the interchange and its members were delivered; None on a version conflict."""
        after = raise_version(mark_sent(batch, self._clock.now_us()))
        numbers = tuple([one.number for one in members])
        journeys = _journeys(members)
        entry = DeliveriesAcknowledged(
            at_us=self._clock.now_us(), by=batch.service, deliveries=numbers, journeys=journeys, batch=after
        )
        keys = (*map(journey_key, journeys), batch_key(after))
        return after if await self._is_written(JournalStep(entry, None, keys, True)) else None

    async def leave(self, number: int, by: str, state: str, reason: Reason) -> bool | None:
        """End a delivery that waits in a batch; None if it is in no batch, False if it cannot be removed now."""
        batch = await self.of_delivery(number)
        return None if batch is None else await self.leave_together(batch.id, [number], by, state, reason)

    async def leave_together(self, batch_id: str, numbers: Sequence[int], by: str, state: str, reason: Reason) -> bool:
        """End deliveries that wait in a batch; False if one of them cannot be removed now."""
        for _ in range(TRIES):
            batch = await self.find(batch_id)
            found = [await self.member(batch_id, number) for number in numbers]
            held = [one for one in found if one is not None]
            if batch is None or not can_leave(batch) or not held:
                return False
            after = batch
            for one in held:
                after = remove_member(after, one.member, self._clock.now_us())
            if await self.end(by, state, reason, after, [one.gathered for one in held]) is not None:
                return len(held) == len(numbers)
        return False

    async def _is_written(self, step: JournalStep) -> bool:
        return not isinstance(await commit_step(self._desk, step), Conflict)

    async def _first(self, query: str, *parameters: Any) -> Batch | None:
        await self._wait_until_indexed()
        rows = await self._index.query(query, *parameters)
        return _batches.decode(rows[0][FACTS]) if rows else None

    def _held(self, row: tuple[Any, ...]) -> PendingMember | None:
        found = found_from_row(row[1:], now=self._clock.monotonic(), now_us=self._clock.now_us())
        return PendingMember(_members.decode(row[0]), found.queued) if found.state is DeliveryState.QUEUED else None


def can_leave(batch: Batch) -> bool:
    """Whether the batch is in a state in which members can be removed."""
    return "left" in BATCH_MOVES[batch.state]


def raise_version(batch: Batch) -> Batch:
    """Return the batch with its version raised by one, as it is stored next."""
    return replace(batch, version=batch.version + 1)


def _journeys(members: Sequence[MemberJourney]) -> tuple[int, ...]:
    return tuple([one.journey for one in members if one.journey])
