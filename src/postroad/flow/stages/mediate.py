"""Decode posts in external formats, and encode deliveries in the format of their receiver.

Rules: the wrapper of a message is stored with it, so that the same bytes can be produced again. Information that a
format cannot carry is recorded before the message is handed out. It is recorded again only if a node cannot know that
it already was. A service that accepts only complete messages gets no incomplete one: its delivery fails instead, as
after the last push.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.delivery.reasons import make_reason
from postroad.core.mediation.conversion_losses import LOSSY
from postroad.core.mediation.formats import decode_wire, encode_delivery, external_format_of, message_of
from postroad.core.mediation.header_fields import PREFIX, fit_header_fields, write_delivered
from postroad.core.mediation.model import EncodedMessage, Wire
from postroad.core.mediation.wrapper import pack_wrapper
from postroad.core.model.delivery import LocalDelivery
from postroad.core.model.directory import Service
from postroad.core.model.formats import Format
from postroad.core.model.journal import DeliveryTranslated
from postroad.core.model.message import Delivered
from postroad.core.model.part_facts import MessageArrival
from postroad.errors import Refused
from postroad.flow.concurrency.commit import commit_step
from postroad.flow.plumbing import Plumbing
from postroad.flow.stages.end import EndStage
from postroad.flow.stages.lookup import DeliveryLookup
from postroad.flow.stages.posting import Posting, compute_fingerprint
from postroad.ports import JournalStep

WRITTEN_AT_ONCE_BYTES = 256 << 10
MAX_REMEMBERED = 100_000
SAYS_SOMETHING = (PREFIX, "ce-", "content-", "soapaction")  # prefixes of header fields that are part of a message


def read_external_post(
    wire: Wire, limits: WireLimits = DEFAULT_LIMITS, idempotency: str = "", trace: bytes = b""
) -> Posting:
    """Decode a post in an external format, with what is needed to reproduce its bytes."""
    if wire.header("as2-from") and wire.header("as2-to"):
        raise Refused("wire.unsupported", "AS2 messages are sent to the network's AS2 address, not to this one")
    if wire.header("content-encoding").lower() not in ("", "identity"):
        raise Refused(
            "wire.unsupported", "Send the message without Content-Encoding; its bytes are forwarded unchanged"
        )
    if wire.header("content-transfer-encoding").lower() not in ("", "binary", "8bit", "7bit"):
        raise Refused(
            "wire.unsupported", "Transfer encodings are not supported in HTTP; send the bytes unencoded, or a multipart"
        )
    taken = decode_wire(wire, limits)
    message = message_of(wire, taken, limits)
    wrapper = pack_wrapper(taken.wrapper) if taken.wrapper is not None else b""
    arrival = MessageArrival(len(wrapper), taken.notes) if wrapper or taken.notes else None
    mark = _mark(wire) if idempotency else ""
    return Posting(
        message=message,
        size=len(wire.body),
        form=taken.format.value,
        idempotency=idempotency,
        fingerprint=mark,
        arrival=arrival,
        wrapper=wrapper,
        trace=trace,
    )


def _mark(wire: Wire) -> str:
    """Return the fingerprint of a post that has its header outside its body."""
    beside = [f"{name}: {value}" for name, value in wire.headers if name.startswith(SAYS_SOMETHING)]
    return compute_fingerprint("\n".join(sorted(beside)).encode() + b"\n" + wire.body)


class HandedDelivery(NamedTuple):
    """A delivery as it is handed out; ``given`` is None if its receiver uses a native format."""

    delivered: Delivered
    given: EncodedMessage | None = None


def build_header_fields(handed: HandedDelivery) -> dict[str, str]:
    """Return the HTTP header fields for the message; lists are joined into one line."""
    fields: dict[str, str] = {}
    for name, value in [*(handed.given.headers if handed.given else ()), *write_delivered(handed.delivered)]:
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


class MediateStage:
    """Encodes deliveries for their receivers and records what a format cannot carry."""

    def __init__(self, plumbing: Plumbing, lookup: DeliveryLookup, ending: EndStage) -> None:
        self._desk, self._clock = plumbing.desk, plumbing.clock
        self._lookup = lookup
        self._ending = ending
        self._on_record: dict[tuple[int, Format], None] = {}  # deliveries and formats, the oldest first

    async def prepare_for_poll(self, service: Service, waiting: Sequence[Delivered]) -> list[HandedDelivery]:
        """Encode deliveries for a poll; an AS2 service gets the AS2 payload without signature or encryption."""
        format = external_format_of(service)
        return await self._given(service, Format.MIME if format is Format.AS2 else format, waiting)

    async def prepare_for_push(self, service: Service, waiting: Sequence[Delivered]) -> list[HandedDelivery]:
        """Encode deliveries for a push; those that failed because data would be lost are left out."""
        return await self._given(service, external_format_of(service), waiting)

    async def _given(
        self, service: Service, format: Format | None, waiting: Sequence[Delivered]
    ) -> list[HandedDelivery]:
        if format is None:
            return [HandedDelivery(delivered) for delivered in waiting]
        soap_body = service.as2.soap_body if service.as2 is not None else ""
        handed = [await _handed_beside(delivered, format, soap_body) for delivered in waiting]
        fitting = await asyncio.gather(*[self._noted(service, format, one) for one in handed])
        return [one for one, fits in zip(handed, fitting, strict=True) if fits]

    async def _noted(self, service: Service, format: Format, handed: HandedDelivery) -> bool:
        """Record what the format cannot carry; False if the delivery may not be handed out."""
        dropped = handed.given.dropped if handed.given is not None else ()
        if not dropped:
            return True
        delivered = handed.delivered
        number = self._lookup.number(delivered)
        if service.whole_only:
            await self._ending.fail(number, make_reason(LOSSY, detail="; ".join(dropped)))
            return False
        if (number, format) not in self._on_record:
            form = delivered.form if isinstance(delivered, LocalDelivery) else ""
            now_us = self._clock.now_us()
            entry = DeliveryTranslated(
                at_us=now_us, by=service.gcid, delivery=number, form=form, format=format.value, dropped=dropped
            )
            await commit_step(self._desk, JournalStep(entry, reserve=True))
            self._remember(number, format)
        return True

    def _remember(self, number: int, format: Format) -> None:
        """Remember that the loss is recorded, once for a delivery and a format."""
        self._on_record[number, format] = None
        if len(self._on_record) > MAX_REMEMBERED:
            del self._on_record[next(iter(self._on_record))]


async def _handed_beside(delivered: Delivered, format: Format, soap_body: str) -> HandedDelivery:
    """Encode large messages off the event loop; scanning ten megabytes may take seconds."""
    if sum([len(part.data) for part in delivered.parts]) <= WRITTEN_AT_ONCE_BYTES:
        return _handed(delivered, format, soap_body)
    return await asyncio.to_thread(_handed, delivered, format, soap_body)


def _handed(delivered: Delivered, format: Format, soap_body: str) -> HandedDelivery:
    """Encode the delivery in an external format with its header fields; AS2 has none."""
    given = encode_delivery(delivered, format, soap_body)
    if format is Format.AS2:
        return HandedDelivery(delivered, given)
    fits, dropped = fit_header_fields(delivered)
    return HandedDelivery(fits, replace(given, dropped=given.dropped + dropped) if dropped else given)
