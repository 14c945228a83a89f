"""Runs a hosted service on one delivery and answers it.

Rules: whatever a service does with a message, the delivery is answered, acknowledged or given back. An error in one
delivery affects only that one. Logs contain sessions and code locations, never the content of a message.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict

from postroad.core.codecs.lexical import NOT_XML
from postroad.core.delivery.reasons import make_reason
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.message import Delivered, Message, MessageType, Status
from postroad.core.model.polling import Outcome, Settlement
from postroad.core.routing.forward import FORWARDING, Forward
from postroad.errors import Refused, Unavailable
from postroad.flow.administration.provisioning_changes import ProvisioningChanges
from postroad.flow.concurrency.error_location import locate_error
from postroad.flow.concurrency.keyed_limit import KeyedSemaphore
from postroad.flow.concurrency.trial_limit import set_trial_organization
from postroad.flow.log_fields import describe_delivery
from postroad.flow.network import Network
from postroad.flow.stages.forward import FORM
from postroad.services.catalogue import CATALOGUE
from postroad.services.crossreference.records import RecordStore
from postroad.services.engines import Engines
from postroad.services.service import ForwardingService, ServiceResult, Tools

AT_A_TIME = 32  # concurrent deliveries of one kind of service, so that slow transforms do not delay lookups
# Maximum of these for one organization, so that its slow stylesheets do not delay others.
PER_ORGANIZATION = 8
WORK_S = 90.0
LEASE_S = 120.0  # longer than the maximum time of the work
RETRY_S = 2.0
MAX_RETRY_S = 300.0
TEXT_CHARS = 1_000
TOO_LATE = ("reference.", "message.expired")  # prefixes of refusals that any other answer would get too

log = logging.getLogger(__name__)


class DeliveryRunner:
    """Runs the deliveries of all hosted services."""

    def __init__(self, network: Network, engines: Engines, references: RecordStore) -> None:
        self._network = network
        self._engines = engines
        self._references = references
        self._trust = ProvisioningChanges(network.configuration, network.clock, network.wait_until_indexed)
        self._orders: defaultdict[tuple[str, str], FifoOrder] = defaultdict(
            FifoOrder
        )  # by service and, in transit, sender
        self._capacity = {kind: asyncio.Semaphore(AT_A_TIME) for kind in CATALOGUE}
        self._slots = {kind: KeyedSemaphore(PER_ORGANIZATION) for kind in CATALOGUE}

    async def serve(self, service: Service, delivered: Delivered) -> None:
        """Process one delivery completely."""
        set_trial_organization(Caller.inside(service))
        position = self._orders[service.gcid, delivered.sender_gcid if delivered.in_transit else ""].join()
        try:
            returned = await self._worked(service, delivered)
            if returned.forwards is not None:
                await position.wait(WORK_S)
                returned = await self._forwarded(service, delivered, returned, returned.forwards, position)
            if delivered.in_transit:  # messages of one sender continue in the order of arrival
                await position.wait(WORK_S)
            else:
                position.leave()
            await self._answer(service, delivered, returned)
        except (Unavailable, TimeoutError) as error:
            log.warning(
                "hosted.returned: %s gives session %s back: %s",
                service.address,
                delivered.session,
                str(error) or "out of time",
                extra=describe_delivery(service, delivered, error),
            )
            await self.give_back(service, delivered)
        except Refused as refusal:  # expired or answered meanwhile
            log.info(
                "hosted.answer_refused: %s could not answer session %s: %s",
                service.address,
                delivered.session,
                refusal.code,
                extra=describe_delivery(service, delivered, refusal),
            )
        finally:
            position.leave()

    async def give_back(self, service: Service, delivered: Delivered, delay_s: float | None = None) -> None:
        """Return the delivery for redelivery; if that fails, its lease expires."""
        settlement = Settlement(
            tokens=(delivered.token,),
            outcome=Outcome.NACK,
            delay_s=_patience_s(delivered) if delay_s is None else delay_s,
            reason="the service was interrupted",
        )
        try:
            await self._network.settle(Caller.inside(service), settlement)
        except Unavailable as error:
            log.warning(
                "hosted.left_to_lease: %s leaves session %s to its lease: %s",
                service.address,
                delivered.session,
                error,
                extra=describe_delivery(service, delivered, error),
            )

    async def _worked(self, service: Service, delivered: Delivered) -> ServiceResult:
        slot = self._slots[service.hosted].slot(service.organization.casefold())
        try:
            async with asyncio.timeout(WORK_S), slot, self._capacity[service.hosted]:
                return await CATALOGUE[service.hosted].work(delivered, self._tools(service))
        except Refused as refusal:
            return ServiceResult(status=Status(refusal.code, refusal.detail))
        except (Unavailable, TimeoutError):
            raise
        except Exception as error:
            log.error(
                "hosted.failed: %s failed on session %s: %s",
                service.address,
                delivered.session,
                locate_error(error),
                extra=describe_delivery(service, delivered, error),
            )
            return ServiceResult(
                status=Status("service.failed", f"{service.address} failed on this message; its owner is notified")
            )

    async def _forwarded(
        self,
        service: Service,
        delivered: Delivered,
        returned: ServiceResult,
        forwards: tuple[Forward, ...],
        position: FifoTurn,
    ) -> ServiceResult:
        """Make the forwards in order of arrival, then answer the delivery."""
        onward = await self._network.forward(Caller.inside(service), delivered, forwards, position.leave)
        hosted = CATALOGUE[service.hosted]
        if not isinstance(hosted, ForwardingService):
            raise TypeError(f"{service.hosted} does not forward messages")
        return await hosted.finish_forward(returned, onward, self._tools(service))

    def _tools(self, service: Service) -> Tools:
        return Tools(
            service=service,
            directory=self._network.directory,
            transformer=self._engines.transformer,
            references=self._references,
            trust=self._trust,
            exchanges=self._network.exchanges,
            models=self._network.models,
            partners=self._network.partners,
            standards=self._network.standards,
            judges=self._engines.judges,
            now_us=self._network.clock.now_us,
            validator=self._engines.validator,
        )

    async def _answer(self, service: Service, delivered: Delivered, returned: ServiceResult) -> None:
        if not delivered.in_transit and delivered.type is not MessageType.REQUEST:
            if returned.status is not None and service.hosted in FORWARDING:
                await self._network.fail(delivered, make_reason(returned.status.code, detail=returned.status.text))
                return
            if returned.status is not None:
                log.info(
                    "hosted.ended: %s: session %s ended as %s",
                    service.address,
                    delivered.session,
                    returned.status.code,
                    extra=describe_delivery(service, delivered) | {"code": returned.status.code},
                )
            await self._network.settle(Caller.inside(service), Settlement(tokens=(delivered.token,)))
            return
        try:
            await self._post(service, _response(delivered, returned))
        except Refused as refusal:
            if returned.status is not None or refusal.code.startswith(TOO_LATE):
                raise
            await self._post(service, _response(delivered, ServiceResult(status=Status(refusal.code, refusal.detail))))

    async def _post(self, service: Service, response: Message) -> None:
        size = sum(len(part.data) for part in response.parts)
        await self._network.post(Caller.inside(service), response, size=size, form=FORM)


def _response(delivered: Delivered, returned: ServiceResult) -> Message:
    parts = returned.parts
    if parts is None:  # unchanged: in transit, the network still has the parts
        parts = () if delivered.in_transit else delivered.parts
    return Message(
        type=MessageType.RESPONSE,
        reference=delivered.token,
        parts=() if returned.status else parts,
        properties=returned.properties,
        status=_writable(returned.status) if returned.status else None,
    )


def _writable(status: Status) -> Status:
    """Return the status in a form that every wire format can carry."""
    return Status(status.code, NOT_XML.sub("\N{REPLACEMENT CHARACTER}", status.text)[:TEXT_CHARS])


def _patience_s(delivered: Delivered) -> float:
    """Return the delay before redelivery, longer each time, so that a full disk does not use up all attempts."""
    return min(MAX_RETRY_S, RETRY_S * 2.0 ** min(delivered.attempt - 1, 20))


class FifoTurn:
    """A position in the order; must always be left, so that the next task can continue."""

    def __init__(self, before: asyncio.Future[None] | None) -> None:
        self._before = before
        self.left: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def wait(self, most_s: float) -> None:
        """Wait until all earlier tasks have left, at most ``most_s`` seconds."""
        if self._before is not None:
            await asyncio.wait((self._before,), timeout=most_s)

    def leave(self) -> None:
        if not self.left.done():
            self.left.set_result(None)


class FifoOrder:
    """Gives out positions in order."""

    def __init__(self) -> None:
        self._last: FifoTurn | None = None

    def join(self) -> FifoTurn:
        last = self._last
        self._last = FifoTurn(last.left if last is not None and not last.left.done() else None)
        return self._last
