"""Deliver messages to polling services, and settle or release what they received.

Rules: every hand-out is stored. An acknowledgment is durable before it is answered. Both may be repeated safely. A
delivery whose body cannot be read is offered again when its lease ends, and does not hold up others.

This module also loads the bodies of deliveries, and attaches the trace (the services that a delivery has passed) for
polls that request it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from operator import attrgetter

from msgspec.structs import replace

from postroad.core.admission.policy import check_connection
from postroad.core.delivery.mailbox import EVERY_NUMBER
from postroad.core.delivery.possible_duplicate import is_possible_duplicate
from postroad.core.delivery.reasons import make_reason
from postroad.core.identity.tokens import Tokens
from postroad.core.model.caller import Caller
from postroad.core.model.delivery import DeliveryState, FoundDelivery, LocalDelivery, Queued
from postroad.core.model.directory import DeliveryMode, Service
from postroad.core.model.formats import PLAIN
from postroad.core.model.journal import DeliveriesReturned, InvocationReturned, decode
from postroad.core.model.message import AnsweredMessage, Delivered
from postroad.core.model.polling import (
    LEASE_MAX_S,
    POLL_MAX,
    WAIT_MAX_S,
    Outcome,
    PollRequest,
    Settled,
    Settlement,
    SettlementResult,
)
from postroad.core.model.selector import EVERYTHING, PseudonymSelector, Selector
from postroad.core.model.snapshot import Directory
from postroad.core.projection.queries import CONTENT
from postroad.core.visibility.isolation import list_passed_services
from postroad.core.visibility.pseudonyms import is_pseudonym
from postroad.core.visibility.redact_delivery import add_cookie, add_trace_context, apply_context, has_context
from postroad.errors import Refused, Unavailable
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.concurrency.interruptible_wait import InterruptibleWait
from postroad.flow.plumbing import Plumbing
from postroad.flow.registries.batches import BatchStore
from postroad.flow.stages.acknowledge import acknowledge
from postroad.flow.stages.end import EndStage
from postroad.flow.stages.hand_out_counts import HandOutCounts
from postroad.flow.stages.lookup import DeliveryLookup
from postroad.flow.stages.mediate import HandedDelivery, MediateStage
from postroad.flow.stages.posting import decode_parts, decode_wrapper
from postroad.ports import Desk, JournalStep

_place = attrgetter("place")
LEASE_S = 60.0
MAX_INTERRUPTED = 100  # interrupted pushes (server stops) of one delivery before it fails
_PLAIN = frozenset(PLAIN)


class DeliverStage:
    """Leases deliveries to pollers and settles them."""

    def __init__(
        self,
        plumbing: Plumbing,
        tokens: Tokens,
        lookup: DeliveryLookup,
        ending: EndStage,
        batches: BatchStore,
        mediation: MediateStage,
    ) -> None:
        self._desk, self._clock, self._directory = plumbing.desk, plumbing.clock, plumbing.directory
        self._traces = TraceReader(plumbing)
        self._tokens = tokens
        self._lookup = lookup
        self._ending = ending
        self._batches = batches
        self._mediation = mediation
        self._counts = HandOutCounts(plumbing.metrics)

    async def poll(
        self,
        caller: Caller,
        request: PollRequest,
        wait: InterruptibleWait | None = None,
        up_to: int = EVERY_NUMBER,
        early: bool = True,
    ) -> list[Delivered]:
        """Lease up to that many deliveries from the caller's mailbox, waiting for the first one if requested.

        ``early``: includes deliveries that wait for a push retry.
        """
        wait = wait or InterruptibleWait()
        service = _receiver(caller)
        selector = self._selector(request)
        if selector is None:
            return []
        most = max(1, min(request.max, POLL_MAX))
        lease_s = min(request.lease_s or LEASE_S, LEASE_MAX_S)
        deadline = self._clock.monotonic() + min(request.wait_s, WAIT_MAX_S)
        began_us = self._clock.now_us()
        while True:
            _check_standing(service, self._directory())
            claimed = await self._desk.claim(
                mailbox=service.gcid,
                selector=selector,
                most=most,
                lease_s=lease_s,
                tries=_tries(service),
                up_to=up_to,
                early=early,
            )
            claimed.sort(key=_place)
            kept = await self._kept(service, claimed) if claimed else []
            if claimed and not kept:
                continue  # all claimed deliveries have failed, and more may wait
            left_s = deadline - self._clock.monotonic()
            if kept or left_s <= 0 or wait.cancelled:
                directory = self._directory()
                delivered = [self._delivered(queued, body, directory) for queued, body in kept]
                handed_out = [queued for queued, _ in kept]
                self._counts.count_hand_outs(service, handed_out, began_us, self._clock.now_us())
                return await self._traces.add_traces(handed_out, delivered, directory) if request.trace else delivered
            if not self._desk.is_searching(service.gcid, selector):
                with self._counts.waiting(service):
                    await wait.until(self._desk.arrival(service.gcid, left_s))

    async def _kept(self, service: Service, claimed: list[Queued]) -> list[tuple[Queued, bytes | None]]:
        """Return the claimed deliveries with their bodies; fail those whose body was dropped by retention."""
        found = await load_bodies(self._desk, service.address, claimed)
        dropped = [queued for queued, body in found if body is None]
        for queued in dropped:
            await self._ending.fail(queued.number, NO_LONGER_KEPT)
        return [pair for pair in found if pair[1] is not None] if dropped else found

    async def poll_in_format(
        self, caller: Caller, request: PollRequest, wait: InterruptibleWait | None = None
    ) -> list[HandedDelivery]:
        """Poll with each message in the caller's format; messages that cannot be encoded fail."""
        began = self._clock.monotonic()
        while waiting := await self.poll(caller, request, wait):
            service = self._directory().services[waiting[0].recipient_gcid]
            if prepared := await self._mediation.prepare_for_poll(service, waiting):
                return prepared
            request = replace(request, wait_s=max(0.0, request.wait_s - (self._clock.monotonic() - began)))
        return []

    async def find_waiting(self, token: str, receiver: str) -> Delivered | None:
        """Return a delivery as it was handed out to its receiver; None once it has ended.

        Raises Refused if the token was not issued to this receiver.
        """
        found = await self._lookup.find(token, receiver)
        if found.state is not DeliveryState.QUEUED:
            return None
        [body] = await self._desk.bodies([found.queued])
        return self._delivered(found.queued, body, self._directory())

    async def settle(self, caller: Caller, settlement: Settlement, receipt: bytes | None = None) -> SettlementResult:
        """Acknowledge leased deliveries or give them back; each token gets its own result."""
        service = _receiver(caller)
        found = await self._lookup.find_all(settlement.tokens, service.gcid)
        open_now = {token: one.queued for token, one in found.items() if one.state is DeliveryState.QUEUED}
        results = {token: _result(token, found.get(token)) for token in settlement.tokens}
        if open_now and settlement.outcome is Outcome.ACK:
            queued = list(open_now.values())
            ended = await acknowledge(self._desk, now_us := self._clock.now_us(), service.gcid, queued, receipt)
            self._counts.count_acknowledged([one for one in queued if one.number not in ended], now_us)
            for token in [token for token, one in open_now.items() if one.number in ended]:
                results[token] = await self._ended_meanwhile(token, service)
        elif open_now:
            await commit_step(self._desk, self._return_step(service, settlement, list(open_now.values())))
        self._batches.notify_ended([one.queued.number for one in found.values()])  # also of a repeated acknowledgment
        return SettlementResult(settled=tuple([results[token] for token in settlement.tokens]))

    async def _ended_meanwhile(self, token: str, service: Service) -> Settled:
        """Return the result for a delivery that ended meanwhile; a repeated acknowledgment is not an error."""
        found = await self._lookup.find(token, service.gcid)
        return Settled(token=token) if found.state is DeliveryState.DELIVERED else _over(token)

    def _return_step(self, service: Service, settlement: Settlement, returned: list[Queued]) -> JournalStep:
        numbers = tuple(dict.fromkeys(queued.number for queued in returned))
        delay_s = max(0.0, min(settlement.delay_s, LEASE_MAX_S))
        reason = settlement.reason[:500]
        return JournalStep(
            DeliveriesReturned(
                at_us=self._clock.now_us(), by=service.gcid, reason=reason, delay_s=delay_s, deliveries=numbers
            ),
            reserve=True,
        )

    def view(self, queued: Queued, body: bytes) -> Delivered:
        """Return a delivery as its receiver sees it."""
        return self._delivered(queued, body, self._directory())

    def _selector(self, request: PollRequest) -> Selector | None:
        """Return the poll's selector with senders as GCIDs; None if no message could ever match.

        A sender that does not exist is waited for like one that does; otherwise the response time would reveal which

        """
        wanted = request.select
        if wanted.selects_all:
            return EVERYTHING
        sender = self._directory().service(wanted.sender) if wanted.sender else None
        named = [text for text in (wanted.session, wanted.transaction) if text]
        if len({is_pseudonym(text) for text in named}) > 1:
            return None  # no message has names of both kinds
        gcid = sender.gcid if sender else wanted.sender
        if not named or not is_pseudonym(named[0]):
            return replace(wanted, sender=gcid)
        return PseudonymSelector(
            sender=gcid,
            type=wanted.type,
            topic=wanted.topic,
            session=self._tokens.pseudonyms.real_session(wanted.session),
            transaction=self._tokens.pseudonyms.real_session(wanted.transaction),
            properties=wanted.properties,
        )

    def _delivered(self, queued: Queued, body: bytes | None, directory: Directory) -> Delivered:
        message = queued.message
        hops = queued.hops
        hop = hops[queued.hop]
        if not queued.token:
            hidden = bool(hop.isolated_by)
            queued.token = self._tokens.token(queued.number, message.session, queued.recipient, hidden=hidden)
        sender, service = message.shown_sender or message.sender, directory.services.get(queued.recipient)
        is_external = service is not None and service.format in _PLAIN
        kind = LocalDelivery if is_external or queued.origin else Delivered
        delivered = kind(
            session=message.session,
            token=queued.token,
            transaction=message.transaction,
            sender=directory.address_of(sender),
            sender_gcid=sender,
            recipient=directory.address_of(queued.recipient),
            recipient_gcid=queued.recipient,
            type=message.type,
            topic=message.topic,
            handle=message.handle,
            arguments=hop.arguments,
            reference=AnsweredMessage(message.answers.session, message.answers.handle) if message.answers else None,
            invoker=directory.address_of(sender if hop.invoker == message.sender else hop.invoker),
            status=message.status,
            properties=message.properties,
            posted_at_us=message.at_us,
            expires_at_us=queued.expires_at_us,
            attempt=queued.attempt,
            in_transit=queued.hop < len(hops) - 1,
            possible_duplicate=is_possible_duplicate(queued, directory.restored_seq),
            parts=decode_parts(queued.content.parts, body or b""),
        )
        if has_context(queued):
            delivered = apply_context(delivered, queued, directory, self._tokens.pseudonyms)
        if message.trace:
            delivered = add_trace_context(delivered, message)
        if is_external:
            delivered = _add_wrapper(delivered, queued, body or b"")
        if directory.cookies:
            delivered = add_cookie(delivered, directory)
        return self._add_origin(delivered, queued) if queued.origin else delivered

    def _add_origin(self, delivered: Delivered, queued: Queued) -> Delivered:
        """Return a resent delivery with the number of its first round, which its receiver knows."""
        origin = self._tokens.pseudonyms.number(queued.origin) if queued.shown_sender else queued.origin
        return replace(delivered, origin=origin)


def _add_wrapper(delivered: Delivered, queued: Queued, body: bytes) -> Delivered:
    """Return the delivery with its wrapper, if nothing is withheld and no party is hidden from the receiver."""
    message = queued.message
    is_whole = len(delivered.parts) == len(queued.content.parts)
    known_by = (delivered.session, delivered.transaction, delivered.sender_gcid)
    is_open = known_by == (message.session, message.transaction, message.sender)
    wrapper = decode_wrapper(queued.content, body) if is_whole and is_open else b""
    return replace(delivered, form=message.form, wrapper=wrapper)


def _result(token: str, found: FoundDelivery | None) -> Settled:
    if found is None:
        return Settled(token=token, code="token.unknown", detail="No delivery of yours has this token")
    return Settled(token=token) if found.state in (DeliveryState.QUEUED, DeliveryState.DELIVERED) else _over(token)


def _over(token: str) -> Settled:
    detail = "The delivery has already ended: it expired, failed, or was cancelled or answered before"
    return Settled(token=token, code="delivery.over", detail=detail)


def _tries(service: Service) -> int:
    """Return the minimum number of hand-outs for a delivery, given the pushes that its service allows.

    A push that a server stop interrupts is handed out again and does not count as an attempt.
    """
    is_pushed = service.push is not None and service.delivery is DeliveryMode.PUSH
    return service.push.total_tries + MAX_INTERRUPTED if service.push is not None and is_pushed else 0


def _receiver(caller: Caller) -> Service:
    if caller.service is None:
        raise Refused("permission.denied", "Only a service's own credentials can read a mailbox, not a person's")
    check_connection(caller, caller.service, f"{caller.service.address} asks")
    return caller.service


def _check_standing(service: Service, directory: Directory) -> None:
    """Refuse deliveries to suspended services, also if suspended during the wait; settling is still allowed."""
    if directory.is_suspended(service):
        raise Refused(
            "service.suspended",
            f"{service.address} is suspended; its messages wait until they expire, please contact the network's operator",
        )


NO_LONGER_KEPT = make_reason("body.dropped", detail="its documents are no longer stored")

log = logging.getLogger(__name__)


async def load_bodies(desk: Desk, who: str, claimed: Sequence[Queued]) -> list[tuple[Queued, bytes | None]]:
    """Return the deliveries with their bodies (None if dropped by retention); Unavailable if none is readable."""
    try:
        return list(zip(claimed, await desk.bodies(claimed), strict=True))
    except Unavailable as trouble:
        found: list[tuple[Queued, bytes | None]] = []
        for queued in claimed:
            with suppress(Unavailable):
                found.append((queued, await desk.body(queued)))
        if not found:
            raise
        log.warning(
            "delivery.bodies_unreadable: %s leaves %d messages to their lease: %s",
            who,
            len(claimed) - len(found),
            trouble,
        )
        return found


FACTS = CONTENT.index("facts")


class TraceReader:
    def __init__(self, plumbing: Plumbing) -> None:
        self._index, self._wait_until_indexed = plumbing.index, plumbing.wait_until_indexed

    async def add_traces(
        self, claimed: Sequence[Queued], delivered: Sequence[Delivered], directory: Directory
    ) -> list[Delivered]:
        """Return the deliveries with the stops they have passed."""
        if any(queued.hop for queued in claimed):
            await self._wait_until_indexed()
        return [
            replace(message, trace=list_passed_services(queued, await self._returned(queued), directory))
            if queued.hop
            else message
            for queued, message in zip(claimed, delivered, strict=True)
        ]

    async def _returned(self, queued: Queued) -> list[InvocationReturned]:
        """Return the results of the services before this one, oldest first."""
        rows = await self._index.query("transaction_contents", queued.message.transaction)
        entries = [decode(row[FACTS]) for row in rows]
        mine = (queued.message_seq, queued.copy)
        return [one for one in entries if isinstance(one, InvocationReturned) and (one.message, one.copy) == mine]
