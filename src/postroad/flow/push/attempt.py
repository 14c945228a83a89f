"""One push attempt: send the request, read the answer, and record the outcome in one entry.

Rules: an attempt ends in one entry (acknowledged, answered, to be retried, or given up), and only that entry counts.
So an attempt that a crash interrupts is made again, with the same id. A receiver that is permanently gone (410) and has
no other endpoint is not pushed to any more: its service polls from then on, and its messages keep waiting.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from postroad.core.admission.policy import is_https, pushed_level
from postroad.core.delivery.push_endpoints import PushTarget
from postroad.core.delivery.push_request import PushAnswer
from postroad.core.delivery.reasons import MAX_REASON, make_reason, reason_text, stored_reason
from postroad.core.delivery.retry_policy import GiveUp, PushDecision, PushRetry, SwitchOff, decide_push, is_address_gone
from postroad.core.mediation.formats import outgoing_of
from postroad.core.mediation.soap_part import payloads
from postroad.core.metrics.declaration import OTHER
from postroad.core.model import message as model
from postroad.core.model.caller import STRENGTH, Caller
from postroad.core.model.directory import DeliveryMode, Service
from postroad.core.model.formats import Format
from postroad.core.model.journal import BY_NETWORK, DeliveryAttempted
from postroad.core.model.message import Delivered, MessageType, Part
from postroad.core.model.polling import Settlement
from postroad.core.model.reason import Reason
from postroad.core.routing.forward import Forward
from postroad.errors import Misconfigured, Refused, Unavailable
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.log_fields import describe_delivery, describe_service
from postroad.flow.network import Network
from postroad.flow.push.as2 import As2Pusher
from postroad.flow.push.request import build_push_request
from postroad.flow.push.response import read_response
from postroad.flow.registries.configuration import build_save
from postroad.flow.stages.mediate import HandedDelivery
from postroad.ports import JournalStep, Pusher, Secrets

WRITE_RETRIES_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)  # together less than a lease lasts beyond the push
TOO_LATE = ("reference.", "message.expired")  # how refusals begin that another answer would meet too

_Written = TypeVar("_Written")

log = logging.getLogger(__name__)


class EndpointHealth(NamedTuple):
    """The endpoint's health after an attempt."""

    is_well: bool
    is_gone: bool = False
    fault: Reason | None = None  # why the message was not delivered; None when it was


class FailedAttempt(NamedTuple):
    """A failed attempt: the HTTP status (0: no answer) and its duration."""

    status: int
    duration_ms: int


def make_receiver_caller(service: Service) -> Caller:
    """Return the caller for responses to pushes; its security level is that of the least secure endpoint."""
    if service.push is None:
        return Caller(service=service)
    places = service.push.places
    level = min(map(pushed_level, places), key=STRENGTH.__getitem__)
    return Caller(service=service, level=level, secure=all(is_https(place.url) for place in places))


class PushAttempts:
    """Makes push attempts and records their outcomes."""

    def __init__(self, network: Network, pusher: Pusher, secrets: Secrets, timeout_s: float, as2: As2Pusher) -> None:
        self.timeout_s = timeout_s
        self._network = network
        self._pusher = pusher
        self._secrets = secrets
        self._as2 = as2
        self.seconds = network.metrics.histograms("push_seconds")  # by speed
        self._results = network.metrics.counters("push_attempts_total")
        self._mdns = network.metrics.counters("mdns_total")
        self._disabled = network.metrics.counter("push_services_disabled_total")

    async def make(
        self,
        service: Service,
        target: PushTarget,
        handed: HandedDelivery,
        before: asyncio.Task[EndpointHealth] | None = None,
    ) -> EndpointHealth:
        """Push once and record the outcome; returns the endpoint's health.

        Its answer is processed after the push ``before`` has ended, so that messages of one sender continue in the
        order of their arrival.
        """
        clock, delivered = self._network.clock, handed.delivered
        started = clock.monotonic()
        if parts := list_separate_parts(service, delivered):
            fault = await _insisting(
                partial(send_parts_separately, self._network, make_receiver_caller(service), delivered, parts)
            )
            if fault is None:
                self._results.of("ok").value += 1
                return EndpointHealth(is_well=True)
            answer = PushAnswer(status=None, fault=fault)
        else:
            answer = await self._answered(service, target, handed)
        if before is not None:
            await asyncio.wait((before,))
        if _is_success(answer):
            answer = await _insisting(partial(self._taken_over, service, delivered, answer))
        self._results.of("ok" if _is_success(answer) else find_result(answer)).value += 1
        if _is_success(answer):
            return EndpointHealth(is_well=True)
        failed = FailedAttempt(answer.status or 0, int((clock.monotonic() - started) * 1_000))
        jitter = self._network.randomness.bytes(1)[0] / 255
        judged = decide_push(answer, target, jitter, clock.now_us())
        await _insisting(partial(self._write, service, delivered, failed, judged))
        is_well = answer.waits_s > 0 or answer.final  # a receiver that refuses by its own protocol works
        return EndpointHealth(is_well=is_well, is_gone=is_address_gone(answer), fault=getattr(judged, "reason", None))

    async def _answered(self, service: Service, target: PushTarget, handed: HandedDelivery) -> PushAnswer:
        try:
            if service.format == Format.AS2:
                answer = await self._as2.push(service, target, handed)
                self._count_mdn(answer)
                return answer
            await self._secrets.prepare(service)
            now_us = self._network.clock.now_us()
            request = build_push_request(service, target.push, handed, self._secrets, now_us, self.timeout_s)
        except (Misconfigured, Unavailable) as fault:  # a setting, or a stored secret that cannot be read now
            return PushAnswer(status=None, fault=make_reason("push.settings", detail=fault))
        return await self._pusher.push(request)

    def _count_mdn(self, answer: PushAnswer) -> None:
        """Count the MDN in the response of an AS2 partner, if there is one."""
        code = answer.fault.code if answer.fault is not None else ""
        disposition = "processed" if answer.receipt else MDN_DISPOSITIONS.get(code)
        if disposition is not None:
            self._mdns.of("received", disposition).value += 1

    async def _taken_over(self, service: Service, delivered: model.Delivered, answer: PushAnswer) -> PushAnswer:
        """Settle an accepted push; if its response cannot be accepted, the attempt has failed."""
        try:
            response = read_response(answer, delivered, service.format)
        except Refused as refusal:
            return _refused_response(refusal)
        caller = make_receiver_caller(service)
        try:
            if response is None:
                settlement = Settlement(tokens=(delivered.token,))
                await self._network.settle(caller, settlement, answer.receipt or None)
            else:
                await self._network.carry_out(caller, response)
        except Refused as refusal:
            if not refusal.code.startswith(TOO_LATE):
                return _refused_response(refusal)
            log.info(
                "push.answer_late: session %s had come to its end when %s answered",
                delivered.session,
                service.address,
                extra=describe_delivery(service, delivered, refusal),
            )
        return answer

    async def _write(
        self, service: Service, delivered: model.Delivered, failed: FailedAttempt, judged: PushDecision
    ) -> None:
        match judged:
            case PushRetry():
                await self._again(service, delivered, failed, judged)
            case GiveUp():
                await self._network.fail(delivered, judged.reason)
            case SwitchOff():
                await self.switch_off(
                    service, reason_text(judged.reason)
                )  # before it waits again, or it would be pushed at once
                await self._again(service, delivered, failed, judged)

    async def _again(
        self, service: Service, delivered: model.Delivered, failed: FailedAttempt, judged: PushRetry | SwitchOff
    ) -> None:
        number = self._network.lookup.number(delivered)
        entry = DeliveryAttempted(
            at_us=self._network.clock.now_us(),
            by=service.gcid,
            deliveries=(number,),
            status=failed.status,
            duration_ms=failed.duration_ms,
            fault=reason_text(judged.reason)[:MAX_REASON],
            delay_s=round(judged.delay_s, 3) if isinstance(judged, PushRetry) else 0.0,
            why=stored_reason(judged.reason),
        )
        await commit_step(self._network.desk, JournalStep(entry, reserve=True, waiting=(number,)))

    async def switch_off(self, service: Service, reason: str) -> None:
        """Switch the service to polling; the change gives the reason, and its owner can switch it back."""
        current = self._network.directory.services.get(service.gcid)
        if current is None or current.delivery is not DeliveryMode.PUSH or current.push != service.push:
            return  # done already, or its owner was quicker
        polling = dataclasses.replace(current, delivery=DeliveryMode.POLL)
        version = self._network.directory.object_version("service", service.gcid)
        try:
            await self._network.configuration.change(BY_NETWORK, [build_save(polling, version)], reason[:MAX_REASON])
        except Refused:  # a concurrent change of the service takes precedence
            return
        self._disabled.value += 1
        log.warning(
            "push.disabled: pushes to %s are switched off: %s", service.address, reason, extra=describe_service(service)
        )


async def _insisting(write: Callable[[], Awaitable[_Written]]) -> _Written:
    """Record an attempt's outcome, with retries while storage is unavailable."""
    for pause_s in WRITE_RETRIES_S:
        try:
            return await write()
        except Unavailable:
            await asyncio.sleep(pause_s)
    return await write()


def _refused_response(refusal: Refused) -> PushAnswer:
    return PushAnswer(status=None, fault=make_reason("push.response-refused", detail=refusal))


# The result of an attempt without a usable answer, as the metrics label it.
RESULTS = {
    "push.timeout": "timeout",
    "push.connect-timeout": "connect",
    "push.nothing-listens": "connect",
    "push.unreachable": "connect",
    "push.certificate": "tls",
    "push.tls": "tls",
    "push.client-certificate": "tls",
    "push.name-servers": "dns",
    "push.address-not-allowed": "forbidden",
}
MDN_DISPOSITIONS = {"as2.rejected": "failure", "as2.altered": "error", "as2.unproven": "error"}


def find_result(answer: PushAnswer) -> str:
    """Return the kind of a failed attempt."""
    if answer.status is not None:
        return "refused"
    return RESULTS.get(answer.fault.code, OTHER) if answer.fault is not None else OTHER


def _is_success(answer: PushAnswer) -> bool:
    return answer.status is not None and 200 <= answer.status < 300 and not answer.waits_s


def list_separate_parts(service: Service, delivered: Delivered) -> Sequence[Part]:
    """Return the parts to send separately; empty if the message is sent as a whole.

    The service that represents the partner forwards every part to itself, and the delivery is settled when all parts are
    stored. So each part has its own Message-ID, its own MDN and its own retries. Rules: this is for notifications only,
    since a request has one response. A delivery that is offered again after an interruption forwards nothing twice.
    """
    as2 = service.as2
    if as2 is None or not as2.message_per_part or len(delivered.parts) < 2:
        return ()
    if delivered.in_transit or delivered.type is not MessageType.NOTIFICATION:
        return ()
    parts = payloads(outgoing_of(delivered), as2.soap_body)
    return parts if len(parts) > 1 else ()


async def send_parts_separately(
    network: Network, caller: Caller, delivered: Delivered, parts: Sequence[Part]
) -> Reason | None:
    """Forward each part to the service itself and settle the delivery; returns the error, or None."""
    forwards = [
        Forward(delivered.recipient_gcid, f"part {number}", replace(part, attachment=False), alone=True)
        for number, part in enumerate(parts, 1)
    ]
    onward = await network.forward(caller, delivered, forwards)
    if onward.faults:
        return make_reason("push.parts", detail=reason_text(onward.faults[0][1]))
    await network.settle(caller, Settlement(tokens=(delivered.token,)))
    return None
