"""Cancel a message: withdraw its undelivered copies and report the result to the sender.

Rules: only its sender cancels a message. A copy that its recipient has leased or acknowledged stays with the
recipient. A copy that is still with an in-transit service is withdrawn.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.admission.admit import Admitted
from postroad.core.delivery.reasons import make_reason, reason_text, stored_reason
from postroad.core.model.delivery import DeliveryState, FoundDelivery
from postroad.core.model.journal import DeliveriesEnded, MessagePosted, decode
from postroad.core.model.message import PostResult, RecipientResult
from postroad.core.projection.delivery_rows import COLUMN
from postroad.core.projection.queries import JOURNEY, MESSAGE
from postroad.core.projection.unique_keys import answer_key, journey_key
from postroad.core.routing.lifecycle import JourneyEvent, is_possible
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.plumbing import Plumbing
from postroad.flow.registries.batches import BatchStore
from postroad.flow.stages.resend import find_newest_round
from postroad.ports import Conflict, JournalStep

TRIES = 5
TOO_LATE = "cancel.too-late"
WITHDRAWN = make_reason("delivery.withdrawn")


class CopyToCancel(NamedTuple):
    """The current delivery and journey of a copy (0: none), and why it cannot be withdrawn, if so."""

    ordinal: int
    delivery: int
    journey: int
    too_late: str
    waits: bool = False  # in a mailbox; otherwise only known to be on its way
    is_gathered: bool = False  # in a batch, which it leaves


class CancelStage:
    """Withdraws undelivered copies."""

    def __init__(self, plumbing: Plumbing, batches: BatchStore) -> None:
        self._desk, self._index, self._clock = plumbing.desk, plumbing.index, plumbing.clock
        self._wait_until_indexed = plumbing.wait_until_indexed
        self._batches = batches

    async def cancel(self, admitted: Admitted) -> PostResult:
        """Withdraw the undelivered copies of the message that the cancel refers to."""
        withdrawn: set[int] = set()  # ordinals of copies that have left their batches
        for _ in range(TRIES):
            await self._wait_until_indexed()
            seq, message = await self._message(admitted)
            copies = [
                await self._whereabouts(seq, message, at)
                for at, copy in enumerate(message.copies)
                if not copy.code and at not in withdrawn
            ]
            if await self._withdraw(admitted, [copy for copy in copies if not copy.too_late], withdrawn):
                return _result(message, {copy.ordinal: copy.too_late for copy in copies})
        raise Unavailable("network.busy", "The message is being forwarded; try again in a moment")

    async def _message(self, admitted: Admitted) -> tuple[int, MessagePosted]:
        for row in await self._index.query("message", admitted.message.reference):
            message = decode(row[MESSAGE.index("header")])
            if isinstance(message, MessagePosted) and message.sender == admitted.sender.gcid and not message.answers:
                return row[0], message
        raise Refused(
            "reference.invalid",
            "The reference is not the session ID of a request or notification that this service posted; use the one that "
            "the post returned",
            pointer="/reference",
        )

    async def _whereabouts(self, seq: int, message: MessagePosted, ordinal: int) -> CopyToCancel:
        begun, journey = await find_newest_round(self._index, seq, message, ordinal)
        if not journey:
            return await self._at(ordinal, begun, 0)
        [row] = await self._index.query("journey", journey)
        at_number, state = (row[JOURNEY.index(column)] for column in ("at_number", "state"))
        if state:
            return CopyToCancel(ordinal, at_number, journey, f"it is {DeliveryState(state).name.lower()}")
        return await self._at(ordinal, at_number, journey)

    async def _at(self, ordinal: int, number: int, journey: int) -> CopyToCancel:
        found = await self._desk.find(number)
        waits = found is not None and found.state is DeliveryState.QUEUED
        batch = await self._batches.of_delivery(number) if waits else None
        if batch is not None and not await self._batches.can_remove_member(batch):
            return CopyToCancel(ordinal, number, journey, f"it is being sent in batch {batch.id}", waits)
        too_late = _too_late(found) or ("its recipient is processing it" if await self._is_in_hand(found) else "")
        return CopyToCancel(ordinal, number, journey, too_late, waits, batch is not None)

    async def _is_in_hand(self, found: FoundDelivery | None) -> bool:
        """Whether the receiver has leased the delivery; a returned delivery is not in hand."""
        if found is None or found.queued.in_transit or not found.queued.leased:
            return False
        if found.queued.available_at <= self._clock.monotonic():
            return False
        rows = await self._index.query("delivery", found.queued.number)
        was_given_back = [
            row[COLUMN["available_at_us"]] > 0 and row[COLUMN["attempts"]] >= found.queued.attempt for row in rows
        ]
        return not any(was_given_back)

    async def _withdraw(self, admitted: Admitted, copies: list[CopyToCancel], withdrawn: set[int]) -> bool:
        """Withdraw these copies in order; False if one has moved on, after the copies before it were withdrawn."""
        for copy in [copy for copy in copies if copy.is_gathered]:
            if not await self._batches.leave(copy.delivery, admitted.sender.gcid, "cancelled", WITHDRAWN):
                return False
            withdrawn.add(copy.ordinal)
        copies = [copy for copy in copies if not copy.is_gathered]
        if not copies:
            return True
        deliveries = tuple(copy.delivery for copy in copies)
        journeys = tuple(copy.journey for copy in copies if copy.journey)
        keys = [
            key for copy in copies if copy.journey for key in (journey_key(copy.journey), answer_key(copy.delivery))
        ]
        entry = DeliveriesEnded(
            at_us=admitted.at_us,
            by=admitted.sender.gcid,
            state="cancelled",
            reason=reason_text(WITHDRAWN),
            deliveries=deliveries,
            journeys=journeys,
            why=stored_reason(WITHDRAWN),
        )
        waiting = tuple(copy.delivery for copy in copies if copy.waits)
        step = JournalStep(entry, None, tuple(keys), reserve=True, waiting=waiting)
        is_withdrawn = not isinstance(await commit_step(self._desk, step), Conflict)
        self._batches.notify_ended((*deliveries, *journeys))
        return is_withdrawn


def _too_late(found: FoundDelivery | None) -> str:
    if found is None:
        return "it is gone"
    if not is_possible(found.queued, JourneyEvent.CANCELLED):
        return "it has been answered"
    if found.queued.in_transit and found.state in (DeliveryState.QUEUED, DeliveryState.DELIVERED):
        return ""
    return f"it is {found.state.name.lower()}" if found.state is not DeliveryState.QUEUED else ""


def _result(message: MessagePosted, too_late: dict[int, str]) -> PostResult:
    told = [
        RecipientResult(
            service=copy.named,
            code=TOO_LATE if too_late.get(ordinal) else "",
            detail=f"Not cancelled: {too_late[ordinal]}" if too_late.get(ordinal) else "",
        )
        for ordinal, copy in enumerate(message.copies)
        if not copy.code
    ]
    return PostResult(session=message.session, transaction=message.transaction, recipients=tuple(told))
