"""Take posts in plain formats apart, and put deliveries into the format that their receiver has chosen.

Kept rules: how a message was wrapped is kept with it, so that the same bytes can be given again; what a format has no place for
is on record before the message is handed out, and again only where a node cannot know that it is. A service that takes messages
only whole gets none from which something is missing: its delivery fails instead, as after the last push.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.identity.tokens import Tokens
from postroad.core.mediation.beside import fitting
from postroad.core.mediation.header_fields import PREFIX, write_delivered
from postroad.core.mediation.losses import LOSSY
from postroad.core.mediation.nouns import Given, Wire
from postroad.core.mediation.setting import packed
from postroad.core.mediation.translating import given_in, message_of, plain_format, take
from postroad.core.model.delivery import Wrapped
from postroad.core.model.directory import Service
from postroad.core.model.formats import Format
from postroad.core.model.journal import DeliveryTranslated
from postroad.core.model.message import Delivered
from postroad.core.model.part_facts import Came
from postroad.errors import Refused
from postroad.flow.commit import committed
from postroad.flow.end import EndStage
from postroad.flow.posting import Posting, fingerprint
from postroad.ports import Clock, Desk, Step

WRITTEN_AT_ONCE_BYTES = 256 << 10
REMEMBERED_MOST = 100_000
SAYS_SOMETHING = (PREFIX, "ce-", "content-", "soapaction")  # how fields of a post begin that are part of its message


def posting_of(wire: Wire, limits: WireLimits = DEFAULT_LIMITS, idempotency: str = "") -> Posting:
    """A post in a plain format, with all that is needed to give the same bytes again."""
    if wire.header("as2-from") and wire.header("as2-to"):
        raise Refused("wire.unsupported", "AS2 messages are sent to the network's AS2 address, not to this one")
    if wire.header("content-encoding").lower() not in ("", "identity"):
        raise Refused("wire.unsupported", "Send the message without Content-Encoding; its bytes go on as they are")
    if wire.header("content-transfer-encoding").lower() not in ("", "binary", "8bit", "7bit"):
        raise Refused("wire.unsupported", "HTTP has no transfer encodings; send the bytes as they are, or a multipart")
    taken = take(wire, limits)
    message = message_of(wire, taken, limits)
    setting = packed(taken.setting) if taken.setting is not None else b""
    came = Came(len(setting), taken.notes) if setting or taken.notes else None
    mark = _mark(wire) if idempotency else ""
    return Posting(message, len(wire.body), taken.format.value, idempotency, mark, came, setting)


def _mark(wire: Wire) -> str:
    """The fingerprint of a post whose header stands beside its bytes."""
    beside = [f"{name}: {value}" for name, value in wire.headers if name.startswith(SAYS_SOMETHING)]
    return fingerprint("\n".join(sorted(beside)).encode() + b"\n" + wire.body)


class Handed(NamedTuple):
    """A delivery as it is handed out; ``given`` is None where its receiver wants one of the network's own forms."""

    delivered: Delivered
    given: Given | None = None


def header_fields(handed: Handed) -> dict[str, str]:
    """What stands beside the message in the head of a request or an answer: one field of a name, lists in one line."""
    fields: dict[str, str] = {}
    for name, value in [*(handed.given.headers if handed.given else ()), *write_delivered(handed.delivered)]:
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    return fields


class MediateStage:
    def __init__(self, desk: Desk, clock: Clock, tokens: Tokens, ending: EndStage) -> None:
        self._desk = desk
        self._clock = clock
        self._tokens = tokens
        self._ending = ending
        self._on_record: dict[tuple[int, Format], None] = {}  # deliveries and formats, the oldest first

    async def prepared_for_poll(self, service: Service, waiting: Sequence[Delivered]) -> list[Handed]:
        """Like ``prepared``; a poller of AS2 gets what AS2 would carry, since nobody signs or encrypts the answer to a poll."""
        format = plain_format(service)
        return await self._given(service, Format.MIME if format is Format.AS2 else format, waiting)

    async def prepared(self, service: Service, waiting: Sequence[Delivered]) -> list[Handed]:
        """These deliveries in the service's format, but for those that failed because it cannot have them whole."""
        return await self._given(service, plain_format(service), waiting)

    async def _given(self, service: Service, format: Format | None, waiting: Sequence[Delivered]) -> list[Handed]:
        if format is None:
            return [Handed(delivered) for delivered in waiting]
        soap_body = service.as2.soap_body if service.as2 is not None else ""
        handed = [await _handed_beside(delivered, format, soap_body) for delivered in waiting]
        fitting = await asyncio.gather(*[self._noted(service, format, one) for one in handed])
        return [one for one, fits in zip(handed, fitting, strict=True) if fits]

    async def _noted(self, service: Service, format: Format, handed: Handed) -> bool:
        """Whether it may be handed out; what is missing in it is on record then."""
        dropped = handed.given.dropped if handed.given is not None else ()
        if not dropped:
            return True
        delivered = handed.delivered
        number = self._number(delivered)
        if service.whole_only:
            await self._ending.fail(number, f"{LOSSY}: {'; '.join(dropped)}")
            return False
        if (number, format) not in self._on_record:
            form = delivered.form if isinstance(delivered, Wrapped) else ""
            now_us = self._clock.now_us()
            entry = DeliveryTranslated(now_us, service.gcid, number, form, format.value, dropped)
            await committed(self._desk, Step(entry, reserve=True))
            self._remember(number, format)
        return True

    def _remember(self, number: int, format: Format) -> None:
        """Not by the number of the attempt: the first may have ended before the record, or been in another format."""
        self._on_record[number, format] = None
        if len(self._on_record) > REMEMBERED_MOST:
            del self._on_record[next(iter(self._on_record))]

    def _number(self, delivered: Delivered) -> int:
        number = self._tokens.number(delivered.token)
        if number is None:
            raise RuntimeError("a delivery of this network has a token of another")
        return number


async def _handed_beside(delivered: Delivered, format: Format, soap_body: str) -> Handed:
    """Large messages are written beside the event loop: looking through ten megabytes may take seconds."""
    if sum([len(part.data) for part in delivered.parts]) <= WRITTEN_AT_ONCE_BYTES:
        return _handed(delivered, format, soap_body)
    return await asyncio.to_thread(_handed, delivered, format, soap_body)


def _handed(delivered: Delivered, format: Format, soap_body: str) -> Handed:
    """The delivery in a plain format, and beside it what has a place there; AS2 has nothing beside it."""
    given = given_in(delivered, format, soap_body)
    if format is Format.AS2:
        return Handed(delivered, given)
    fits, dropped = fitting(delivered)
    return Handed(fits, replace(given, dropped=given.dropped + dropped) if dropped else given)
