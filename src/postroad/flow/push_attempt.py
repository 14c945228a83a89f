"""One attempt to push a delivery, seen through: the request, the answer, and the entry that says what became of it.

Kept rules: an attempt ends in one entry (acknowledged, answered, to be tried again, or given up), and only what that entry says
is true; so an attempt that a crash interrupts is made again, with the same id. A receiver that is gone for good (410), with no
other place to push to, is pushed to no more: its service polls from then on, and what waits goes on waiting.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import NamedTuple, TypeVar

from postroad.core.admission.policy import is_https, pushed_level
from postroad.core.delivery.dead_letters import PUSH_SETTINGS
from postroad.core.delivery.places import Target
from postroad.core.delivery.pushing import PushAnswer
from postroad.core.delivery.retrying import Again, GiveUp, SwitchOff, Verdict, is_gone, verdict
from postroad.core.model import message as model
from postroad.core.model.caller import STRENGTH, Caller
from postroad.core.model.directory import DeliveryMode, Service
from postroad.core.model.formats import Format
from postroad.core.model.journal import DeliveryAttempted
from postroad.core.model.polling import Settlement
from postroad.errors import Misconfigured, Refused, Unavailable
from postroad.flow.commit import committed
from postroad.flow.configure import saving
from postroad.flow.end import BY_NETWORK, REASON_MOST
from postroad.flow.mediate import Handed
from postroad.flow.network import Network
from postroad.flow.push_answer import response_in
from postroad.flow.push_apart import parts_apart, send_apart
from postroad.flow.push_as2 import As2Pushes
from postroad.flow.push_request import push_request
from postroad.ports import Pusher, Secrets, Step

INSISTING_S = (0.2, 0.5, 1.0, 2.0, 4.0, 8.0)  # together less than a lease lasts beyond the push
TOO_LATE = ("reference.", "message.expired")  # how refusals begin that another answer would meet too

_Written = TypeVar("_Written")

log = logging.getLogger(__name__)


class Made(NamedTuple):
    """How the place is to which an attempt was made."""

    is_well: bool
    is_gone: bool = False
    fault: str = ""  # why the message was not delivered; empty when it was


class Failed(NamedTuple):
    """An attempt that failed: the status of the answer (0 when there was none) and how long it took."""

    status: int
    duration_ms: int


def caller_for(service: Service) -> Caller:
    """The service at the other end of a push, as safe as URL and proof make it at the less safe one of its places."""
    if service.push is None:
        return Caller(service=service)
    places = service.push.places
    level = min(map(pushed_level, places), key=STRENGTH.__getitem__)
    return Caller(service=service, level=level, secure=all(is_https(place.url) for place in places))


class Attempts:
    def __init__(self, network: Network, pusher: Pusher, secrets: Secrets, timeout_s: float, as2: As2Pushes) -> None:
        self.timeout_s = timeout_s
        self._network = network
        self._pusher = pusher
        self._secrets = secrets
        self._as2 = as2

    async def make(
        self, service: Service, target: Target, handed: Handed, before: asyncio.Task[Made] | None = None
    ) -> Made:
        """Push once and write down what came of it; returns how the receiver is.

        Its answer counts after the push ``before`` has ended: messages of one sender go on in the order in which they came.
        """
        clock, delivered = self._network.clock, handed.delivered
        started = clock.monotonic()
        if parts := parts_apart(service, delivered):
            fault = await _insisting(partial(send_apart, self._network, caller_for(service), delivered, parts))
            if not fault:
                return Made(is_well=True)
            answer = PushAnswer(status=None, fault=fault)
        else:
            answer = await self._answered(service, target, handed)
        if before is not None:
            await asyncio.wait((before,))
        if _is_success(answer):
            answer = await _insisting(partial(self._taken_over, service, delivered, answer))
        if _is_success(answer):
            return Made(is_well=True)
        failed = Failed(answer.status or 0, int((clock.monotonic() - started) * 1_000))
        jitter = self._network.randomness.bytes(1)[0] / 255
        judged = verdict(answer, target, jitter, clock.now_us())
        await _insisting(partial(self._write, service, delivered, failed, judged))
        is_well = answer.waits_s > 0 or answer.final  # whoever says no in its own words is well
        return Made(is_well=is_well, is_gone=is_gone(answer), fault=getattr(judged, "reason", ""))

    async def _answered(self, service: Service, target: Target, handed: Handed) -> PushAnswer:
        try:
            if service.format == Format.AS2:
                return await self._as2.push(service, target, handed)
            now_us = self._network.clock.now_us()
            request = push_request(service, target.push, handed, self._secrets, now_us, self.timeout_s)
        except Misconfigured as fault:
            return PushAnswer(status=None, fault=f"{PUSH_SETTINGS}: {fault}")
        return await self._pusher.push(request)

    async def _taken_over(self, service: Service, delivered: model.Delivered, answer: PushAnswer) -> PushAnswer:
        """Settle what the receiver has taken; a response of its that cannot be accepted makes the attempt a failed one."""
        caller = caller_for(service)
        try:
            response = response_in(answer, delivered, service.format)
            if response is None:
                settlement = Settlement(tokens=(delivered.token,))
                await self._network.settle(caller, settlement, answer.receipt or None)
            else:
                await self._network.carry_out(caller, response)
        except Refused as refusal:
            if not refusal.code.startswith(TOO_LATE):
                return PushAnswer(status=None, fault=f"the response in the answer was refused: {refusal}")
            log.info("session %s had come to its end when %s answered", delivered.session, service.address)
        return answer

    async def _write(self, service: Service, delivered: model.Delivered, failed: Failed, judged: Verdict) -> None:
        match judged:
            case Again():
                await self._again(service, delivered, failed, judged)
            case GiveUp():
                await self._network.ending.fail(self.number(delivered), judged.reason)
            case SwitchOff():
                await self.switch_off(service, judged.reason)  # before it waits again, or it would be pushed at once
                await self._again(service, delivered, failed, judged)

    async def _again(
        self, service: Service, delivered: model.Delivered, failed: Failed, judged: Again | SwitchOff
    ) -> None:
        number = self.number(delivered)
        entry = DeliveryAttempted(
            at_us=self._network.clock.now_us(),
            by=service.gcid,
            deliveries=(number,),
            status=failed.status,
            duration_ms=failed.duration_ms,
            fault=judged.reason[:REASON_MOST],
            delay_s=round(judged.delay_s, 3) if isinstance(judged, Again) else 0.0,
        )
        await committed(self._network.desk, Step(entry, reserve=True, waiting=(number,)))

    def number(self, delivered: model.Delivered) -> int:
        """The delivery's number, which its token holds."""
        number = self._network.tokens.number(delivered.token)
        if number is None:
            raise RuntimeError("a delivery of this network has a token of another")
        return number

    async def switch_off(self, service: Service, reason: str) -> None:
        """Let the service poll from now on; the change says why, and its owner changes it back when the server is well."""
        current = self._network.directory.services.get(service.gcid)
        if current is None or current.delivery is not DeliveryMode.PUSH or current.push != service.push:
            return  # done already, or its owner was quicker
        polling = dataclasses.replace(current, delivery=DeliveryMode.POLL)
        version = self._network.directory.object_version("service", service.gcid)
        try:
            await self._network.configuration.change(BY_NETWORK, [saving(polling, version)], reason[:REASON_MOST])
        except Refused:  # changed by somebody else in this very moment, who knows better
            return
        log.warning("pushes to %s are switched off: %s", service.address, reason)


async def _insisting(write: Callable[[], Awaitable[_Written]]) -> _Written:
    """Write what came of an attempt, also when storage is away for a moment: otherwise the lease ends, and it is made again."""
    for pause_s in INSISTING_S:
        try:
            return await write()
        except Unavailable:
            await asyncio.sleep(pause_s)
    return await write()


def _is_success(answer: PushAnswer) -> bool:
    return answer.status is not None and 200 <= answer.status < 300 and not answer.waits_s
