"""Intake of a batcher's mailbox: decides which messages are gathered, passed on or refused.

Rules: only notifications with one document are gathered. A request is refused with a hint what to do instead. A
message that the policy does not select is passed on unchanged, and its delivery is acknowledged after that. A message
that cannot be handled now is offered again when its lease ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator, Sequence
from typing import Any

from postroad.core.batching import arrival_of
from postroad.core.batching.arrival import arrival_without_content
from postroad.core.batching.interchange_contents import member_of
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.batch_policy import Batching
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import Queued
from postroad.core.model.directory import Service
from postroad.core.model.message import Message, MessageType, Status
from postroad.core.model.selector import EVERYTHING
from postroad.core.routing.budget import Budget
from postroad.core.routing.conditions.message_subject import travelling_subject
from postroad.core.routing.forward import Forward
from postroad.errors import Refused, Unavailable
from postroad.flow.batching.pending import TimedArrival
from postroad.flow.concurrency.error_location import locate_error
from postroad.flow.log_fields import describe_delivery
from postroad.flow.network import Network
from postroad.flow.stages.acknowledge import acknowledge
from postroad.flow.stages.deliver import NO_LONGER_KEPT, load_bodies
from postroad.flow.stages.posting import decode_parts

PAGE = 500  # deliveries taken at a time …
PAGE_BYTES = 16 << 20  # … and read at a time
LEASE_S = 60.0  # longer than anything may stay unsaved
CHOSEN_BY = "batcher"
REFUSED = Status(
    "batch.request",
    "A batcher accepts only notifications: post a notification, or send the request to the service itself",
)
FAILED = Status("service.failed", "The batcher failed on this message; its owner is notified")

log = logging.getLogger(__name__)


class BatchIntake:
    """Claims deliveries of one batcher and prepares them for its batches."""

    def __init__(self, network: Network, gcid: str) -> None:
        self._network = network
        self._gcid = gcid

    async def claim(self, service: Service, batching: Batching) -> tuple[list[TimedArrival], bool]:
        """Return the messages to gather and whether more may wait; all others have been passed on or refused."""
        claimed = await self._network.desk.claim(self._gcid, EVERYTHING, PAGE, LEASE_S, early=True)
        arrivals: list[TimedArrival] = []
        for portion in _portions(claimed):
            aside = []
            for queued, body in await load_bodies(self._network.desk, service.address, portion):
                found = await self._gathered(service, batching, queued, body)
                if isinstance(found, TimedArrival):
                    arrivals.append(found)
                else:
                    aside.append(self._dealt_with(service, queued, found))
            await asyncio.gather(*aside)
        return arrivals, len(claimed) == PAGE

    async def _gathered(
        self, service: Service, batching: Batching, queued: Queued, body: bytes | None
    ) -> TimedArrival | Coroutine[Any, Any, None]:
        """Return the message as a batch arrival, or the work that deals with it otherwise."""
        if body is None:
            return self._network.ending.fail(queued.number, NO_LONGER_KEPT)
        if queued.in_transit or queued.message.type is not MessageType.NOTIFICATION:
            return self._refuse(service, queued, body)
        try:
            arrival = await self._arrival(service, batching, queued, body)
            return arrival or self._pass_by(service, batching, queued, body)
        except Exception as error:
            log.error(
                "batch.intake_failed: %s failed on session %s: %s",
                service.address,
                queued.message.session,
                locate_error(error),
                extra=describe_delivery(service, queued.message, error),
            )
            return self._network.ending.fail(queued.number, make_reason(FAILED.code, detail=FAILED.text))

    async def _dealt_with(self, service: Service, queued: Queued, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Unavailable as error:
            log.warning(
                "batch.left_to_lease: %s leaves session %s to its lease: %s",
                service.address,
                queued.message.session,
                error,
                extra=describe_delivery(service, queued.message, error),
            )
        except Refused as refusal:  # expired or answered meanwhile
            log.info(
                "batch.intake_refused: %s: session %s: %s",
                service.address,
                queued.message.session,
                refusal.code,
                extra=describe_delivery(service, queued.message, refusal),
            )

    async def _arrival(self, service: Service, batching: Batching, queued: Queued, body: bytes) -> TimedArrival | None:
        """Return the message as a batch arrival; None if it is passed on unbatched."""
        parts = decode_parts(queued.content.parts, body)
        if len(parts) != 1:
            return None
        member = member_of(queued.number, parts)
        arrival = arrival_without_content(batching.policy, member)
        if arrival is None:
            directory, properties = self._network.directory, queued.message.properties
            arrival = await self._network.heavy.route(
                service.organization,
                lambda at_once: arrival_of(
                    batching.policy, travelling_subject(queued, parts, properties, directory, Budget(at_once)), member
                ),
            )
        return TimedArrival(arrival, self._came_at_us(queued)) if arrival.taken else None

    def _came_at_us(self, queued: Queued) -> int:
        """Return the arrival time: the time of posting if it was posted directly to the batcher."""
        now_us = self._network.clock.now_us()
        is_first = queued.hop == 0 and not queued.origin
        return min(queued.message.at_us, now_us) if is_first else now_us

    async def _pass_by(self, service: Service, batching: Batching, queued: Queued, body: bytes) -> None:
        """Pass the message on unchanged."""
        network = self._network
        receiver = network.directory.service(batching.sends_to)
        if receiver is None:
            detail = f"service {batching.sends_to} does not exist; correct sendsTo, and resend this"
            await network.ending.fail(queued.number, make_reason("recipient.unknown", detail=detail))
            return
        delivered = network.view_delivery(queued, body)
        onward = await network.forward(Caller.inside(service), delivered, [Forward(receiver.gcid, CHOSEN_BY)])
        if onward.faults:
            await network.ending.fail(queued.number, onward.faults[0][1])
        else:
            await acknowledge(network.desk, network.clock.now_us(), self._gcid, [queued])

    async def _refuse(self, service: Service, queued: Queued, body: bytes) -> None:
        if not queued.in_transit and queued.message.type is not MessageType.REQUEST:
            await self._network.ending.fail(queued.number, make_reason(REFUSED.code, detail=REFUSED.text))
            return
        token = self._network.view_delivery(queued, body).token
        answer = Message(type=MessageType.RESPONSE, reference=token, status=REFUSED)
        await self._network.post(Caller.inside(service), answer, form="hosted")


def _portions(claimed: Sequence[Queued]) -> Iterator[list[Queued]]:
    """Split the deliveries into portions whose bodies are read together."""
    portion: list[Queued] = []
    size = 0
    for queued in claimed:
        portion.append(queued)
        size += sum([part.size for part in queued.content.parts])
        if size >= PAGE_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion
