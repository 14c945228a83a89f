"""End a journey early: after a failure, a rejection or a timeout.

Rules: a journey ends once, which the key of its entry guarantees. The sender of a request receives an error response
in the entry that ends the journey. The end of a notification is visible only in the audit trail.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from postroad.core.delivery.reasons import MAX_REASON, reason_text, stored_reason
from postroad.core.model import ids
from postroad.core.model.delivery import DeliveryState, Queued
from postroad.core.model.directory import Service
from postroad.core.model.journal import BY_NETWORK, DeliveriesEnded, JourneyEnding, MessagePosted
from postroad.core.model.message import MessageType, Status
from postroad.core.model.reason import Reason
from postroad.core.projection.unique_keys import answer_key, journey_key
from postroad.core.visibility.isolation import anonymous_service_label, visible_recipient
from postroad.flow.concurrency.commit import commit_step, submit_step, wait_until_stored
from postroad.flow.concurrency.next_due import DueTimes
from postroad.flow.plumbing import Plumbing
from postroad.flow.registries.batches import BatchStore
from postroad.flow.stages import entries
from postroad.flow.stages.resend import JourneyOrigin, find_journey_origin, find_journey_origins
from postroad.ports import Committed, Conflict, JournalStep

TOGETHER = 100  # deliveries in one entry


class EndStage:
    """Ends journeys and deliveries, and sends error responses to requesters."""

    def __init__(self, plumbing: Plumbing, due: DueTimes, batches: BatchStore) -> None:
        self._desk, self._journal, self._clock = plumbing.desk, plumbing.journal, plumbing.clock
        self._directory, self._randomness = plumbing.directory, plumbing.randomness
        self._due = due
        self._batches = batches

    async def give_up(self, queued: Queued, state: str, reason: Reason) -> None:
        """End the journey of a delivery that the desk no longer hands out."""
        code = "route.expired" if state == "expired" else "route.failed"
        someone = anonymous_service_label(queued, self._directory())  # the reason may identify the service
        told = Status(code, f"{someone} failed, or did not accept the message in time") if someone else None
        status = Status(code, reason_text(reason))
        await self.end(queued.journey, queued.number, state, status, why=reason, told=told)

    async def fail(self, number: int, reason: Reason) -> None:
        """Fail a waiting delivery: it becomes a dead letter, and a requester gets an error response."""
        found = await self._desk.find(number)
        if found is None or found.state is not DeliveryState.QUEUED:
            return
        if found.queued.journey:
            await self.give_up(found.queued, "failed", reason)
            return
        entry = self._ended("failed", reason, (number,))
        await commit_step(self._desk, JournalStep(entry, reserve=True, waiting=(number,)))
        self._batches.notify_ended((number,))

    async def expire(self, numbers: Sequence[int], reason: Reason) -> None:
        """End deliveries without a journey; one by one if one of them was settled meanwhile."""
        parts = [tuple(numbers[start : start + TOGETHER]) for start in range(0, len(numbers), TOGETHER)]
        await asyncio.gather(*[self._expire(part, reason) for part in parts])

    async def _expire(self, numbers: tuple[int, ...], reason: Reason) -> None:
        entry = self._ended("expired", reason, numbers)
        outcome = await commit_step(self._desk, JournalStep(entry, reserve=True, waiting=numbers))
        self._batches.notify_ended(numbers)
        if isinstance(outcome, Conflict) and len(numbers) > 1:
            await asyncio.gather(*[self._expire((number,), reason) for number in numbers])

    def _ended(self, state: str, reason: Reason, numbers: tuple[int, ...]) -> DeliveriesEnded:
        return DeliveriesEnded(
            at_us=self._clock.now_us(),
            by=BY_NETWORK,
            state=state,
            reason=reason_text(reason)[:MAX_REASON],
            deliveries=numbers,
            why=stored_reason(reason),
        )

    async def end(
        self,
        journey: int,
        delivery: int,
        state: str,
        status: Status,
        *,
        why: Reason | None = None,
        told: Status | None = None,
    ) -> bool:
        """End the journey at this delivery; False if it has moved on or ended meanwhile.

        ``status`` is recorded with the reason ``why``, or else with its code. A requester receives ``status`` too, or
        ``told`` if a party hides the reason from the requester.
        """
        found = await find_journey_origin(self._journal, journey)
        if found is None:
            return False
        step = self._end_step(found, journey, delivery, state, status, why=why, told=told)
        return self._has_ended(step, journey, delivery, await commit_step(self._desk, step))

    async def end_all(self, journeys: Mapping[int, int], state: str, status: Status) -> bool:
        """End journeys in as few groups as possible; False if all have moved on or ended meanwhile."""
        found = await find_journey_origins(self._journal, journeys)
        steps = {
            journey: self._end_step(one, journey, journeys[journey], state, status) for journey, one in found.items()
        }
        outcomes = {journey: submit_step(self._desk, step) for journey, step in steps.items()}
        await asyncio.wait(outcomes.values()) if outcomes else None
        ended = [
            self._has_ended(steps[journey], journey, journeys[journey], await wait_until_stored(outcome))
            for journey, outcome in outcomes.items()
        ]
        return any(ended)

    def _end_step(
        self,
        found: JourneyOrigin,
        journey: int,
        delivery: int,
        state: str,
        status: Status,
        *,
        why: Reason | None = None,
        told: Status | None = None,
    ) -> JournalStep:
        message, ordinal = found
        reason = f"{status.code}: {status.text}"[:MAX_REASON]
        code = stored_reason(why) if why is not None else Reason(status.code)
        keys = (journey_key(journey), answer_key(delivery))
        requester = self._directory().services.get(message.sender)
        if message.type is MessageType.REQUEST and requester is not None:
            ending = JourneyEnding(journey, delivery, state, reason, code)
            response = self._error_response(message, ordinal, requester, told or status, ending, keys)
            return JournalStep(response, None, keys, reserve=True)
        now_us = self._clock.now_us()
        ended = DeliveriesEnded(
            at_us=now_us,
            by=BY_NETWORK,
            state=state,
            reason=reason,
            deliveries=(delivery,),
            journeys=(journey,),
            why=code,
        )
        return JournalStep(ended, None, keys, reserve=True)

    def _has_ended(self, step: JournalStep, journey: int, delivery: int, outcome: Committed | Conflict) -> bool:
        if isinstance(step.entry, MessagePosted):
            self._due.note(step.entry.expires_at_us)
        self._batches.notify_ended((journey, delivery))
        return isinstance(outcome, Committed)

    def _error_response(
        self,
        request: MessagePosted,
        ordinal: int,
        requester: Service,
        status: Status,
        ending: JourneyEnding,
        keys: tuple[int, ...],
    ) -> MessagePosted:
        """Build the error response that the network sends in the recipient's name."""
        now_us = self._clock.now_us()
        directory, copy = self._directory(), request.copies[ordinal]
        named = directory.service(copy.named)
        sender = named.gcid if named is not None else visible_recipient(copy, request.sender, directory)
        return entries.build_error_response(
            request,
            requester,
            at_us=now_us,
            session=ids.session(now_us, self._randomness.bytes(10)),
            sender=sender,
            directory_version=directory.version,
            status=status,
            ending=ending,
            keys=keys,
        )
