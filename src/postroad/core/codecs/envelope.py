"""The envelope form: msgpack with the metadata outside the payload, for senders that post by the thousand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from postroad.core.codecs.json_shapes import JsonProblem, make_problem
from postroad.core.codecs.lexical import LAST_US, check_size, read_property, read_routing, read_text
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.parts import OCTETS, check_lists, in_order, read_headers
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.core.codecs.requests import check_poll, check_settlement
from postroad.core.model.message import (
    Argument,
    Delivered,
    Message,
    MessageType,
    Part,
    PostResult,
    Property,
    Recipient,
    Status,
)
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult
from postroad.errors import Refused

ENVELOPES = "application/vnd.postroad.envelopes+msgpack"

_Shape = TypeVar("_Shape")
_Time = Annotated[int, Meta(ge=0, le=LAST_US)]
_Service = str | tuple[str, dict[str, str]]


class EnvelopePart(Struct, array_like=True, forbid_unknown_fields=True, omit_defaults=True):
    """A further document or attachment: ``[id, content type, data, expires at µs, attachment, headers]``."""

    id: str
    content_type: str
    data: bytes
    expires_at_us: _Time = 0
    attachment: bool = False
    headers: dict[str, str] = {}


class PackedEnvelope(Struct, array_like=True, forbid_unknown_fields=True, omit_defaults=True):
    """One message; ``payload`` is its document with the ID "1", or nil if all parts are in ``parts``."""

    to: str | list[_Service]
    payload: bytes | None = None
    content_type: str = OCTETS
    type: MessageType = MessageType.NOTIFICATION
    topic: str = ""
    handle: str = ""
    reference: str = ""
    expires_at_us: _Time = 0
    possible_duplicate: bool = False
    properties: tuple[Property, ...] = ()
    sender: str = ""
    route: list[_Service] = []
    status: Status | None = None
    parts: list[EnvelopePart] = []
    routing: str = ""


class TracedEnvelope(PackedEnvelope, array_like=True, forbid_unknown_fields=True, omit_defaults=True):
    """An envelope with a W3C trace context; a type of its own, since arrays are written with all their fields."""

    traceparent: str = ""
    tracestate: str = ""


_ENVELOPE = msgspec.msgpack.Decoder(TracedEnvelope)
_RAW_ENVELOPES = msgspec.msgpack.Decoder(list[msgspec.Raw])
_ENVELOPE_LIST = msgspec.msgpack.Decoder(list[TracedEnvelope])
_DELIVERIES = msgspec.msgpack.Decoder(list[Delivered])
_RESULT = msgspec.msgpack.Decoder(PostResult)
_POLL = msgspec.msgpack.Decoder(PollRequest)
_SETTLEMENT = msgspec.msgpack.Decoder(Settlement)
_SETTLEMENT_RESULT = msgspec.msgpack.Decoder(SettlementResult)
_PROBLEM = msgspec.msgpack.Decoder(JsonProblem)
_encode = msgspec.msgpack.encode


def _decode(body: bytes, decoder: msgspec.msgpack.Decoder[_Shape]) -> _Shape:
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise malformed(f"not the expected msgpack: {fault}") from None
    except RecursionError:
        raise too_complex("the msgpack is nested too deep") from None


class EnvelopeCodec:
    """The codec of envelopes; ``codec.py`` has its contract."""

    media_type = ENVELOPES
    refusal_media_type = ENVELOPES

    def decode_post(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Message:
        check_size(body, limits)
        return message_of(_decode(body, _ENVELOPE), limits)

    def decode_posts(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> list[Message | Refused]:
        """Every envelope of a bulk body; one bad envelope does not spoil the others."""
        check_size(body, limits)
        _check_bulk(body, limits)
        try:
            envelopes = _ENVELOPE_LIST.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return [_decoded(bytes(raw), limits) for raw in _decode(body, _RAW_ENVELOPES)]
        return [_converted(envelope, limits) for envelope in envelopes]

    def encode_post(self, message: Message) -> bytes:
        return _encode(envelope_of(message))

    def encode_posts(self, messages: Sequence[Message]) -> bytes:
        return _encode([envelope_of(message) for message in messages])

    def encode_result(self, result: PostResult) -> bytes:
        return _encode(result)

    def decode_result(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> PostResult:
        check_size(body, limits)
        return _decode(body, _RESULT)

    def encode_poll(self, request: PollRequest) -> bytes:
        return _encode(request)

    def decode_poll(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> PollRequest:
        check_size(body, limits)
        return check_poll(_decode(body, _POLL), limits)

    def encode_delivered(self, messages: Sequence[Delivered]) -> bytes:
        return _encode([message if type(message) is Delivered else _plain(message) for message in messages])

    def decode_delivered(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> list[Delivered]:
        check_size(body, limits)
        return _decode(body, _DELIVERIES)

    def encode_settlement(self, settlement: Settlement) -> bytes:
        return _encode(settlement)

    def decode_settlement(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Settlement:
        check_size(body, limits)
        return check_settlement(_decode(body, _SETTLEMENT), limits)

    def encode_settlement_result(self, result: SettlementResult) -> bytes:
        return _encode(result)

    def decode_settlement_result(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> SettlementResult:
        check_size(body, limits)
        return _decode(body, _SETTLEMENT_RESULT)

    def encode_refusal(
        self, code: str, title: str, detail: str, pointer: str = "", session: str = "", status: int = 400
    ) -> bytes:
        return _encode(make_problem(code, title, status=status, detail=detail, pointer=pointer, session=session))

    def decode_refusal(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Refused:
        check_size(body, limits)
        return _decode(body, _PROBLEM).to_refusal()


def _check_bulk(body: bytes, limits: WireLimits) -> None:
    """Refuse an array that announces more messages than allowed before anything is made of it."""
    first = body[0] if body else 0
    count = first & 0x0F if first >> 4 == 0x9 else 0
    if first in (0xDC, 0xDD):
        count = int.from_bytes(body[1 : 3 if first == 0xDC else 5], "big")
    if count > limits.bulk_messages:
        raise too_complex(f"{count} messages were sent; at most {limits.bulk_messages} are allowed in one call")


def _decoded(raw: bytes, limits: WireLimits) -> Message | Refused:
    try:
        return message_of(_decode(raw, _ENVELOPE), limits)
    except Refused as refused:
        return refused


def _converted(envelope: TracedEnvelope, limits: WireLimits) -> Message | Refused:
    try:
        return message_of(envelope, limits)
    except Refused as refused:
        return refused


def message_of(e: TracedEnvelope, limits: WireLimits) -> Message:
    """The message in an envelope; the shortest envelopes take the shortest way."""
    to, payload, text = e.to, e.payload, e.topic + e.handle + e.content_type
    if (
        type(to) is str
        and to
        and payload is not None
        and len(text) + len(to) <= limits.text_chars
        and (to + text).isprintable()
        and not (e.parts or e.properties or e.route or e.reference or e.sender or e.status or e.routing)
    ):
        return Message(
            to=(Recipient(to),),
            type=e.type,
            topic=e.topic,
            handle=e.handle,
            expires_at_us=e.expires_at_us,
            possible_duplicate=e.possible_duplicate,
            parts=(Part(id="1", content_type=e.content_type or OCTETS, data=payload),),
            traceparent=e.traceparent,
            tracestate=e.tracestate,
        )
    return _checked(e, limits)


def _checked(e: TracedEnvelope, limits: WireLimits) -> Message:
    for name, text in (("topic", e.topic), ("handle", e.handle), ("reference", e.reference), ("sender", e.sender)):
        read_text(text, "/" + name, limits)
    message = Message(
        sender=e.sender,
        to=_recipients([e.to] if isinstance(e.to, str) else e.to, "/to", limits),
        type=e.type,
        topic=e.topic,
        handle=e.handle,
        possible_duplicate=e.possible_duplicate,
        reference=e.reference,
        expires_at_us=e.expires_at_us,
        route=_recipients(e.route, "/route", limits),
        properties=tuple(_property(entry, limits) for entry in e.properties),
        status=_status(e.status, limits),
        parts=_parts(e, limits),
        routing=read_routing(e.routing, "/routing") if e.routing else "",
        traceparent=e.traceparent,
        tracestate=e.tracestate,
    )
    check_lists(message, limits)
    return message


def _recipients(services: Sequence[_Service], pointer: str, limits: WireLimits) -> tuple[Recipient, ...]:
    return tuple(_recipient(service, f"{pointer}/{number}", limits) for number, service in enumerate(services))


def _recipient(service: _Service, pointer: str, limits: WireLimits) -> Recipient:
    name, arguments = (service, {}) if isinstance(service, str) else service
    if not name:
        raise malformed("the name of a service is missing", pointer)
    checked = [Argument(read_text(k, pointer, limits), read_text(v, pointer, limits)) for k, v in arguments.items()]
    return Recipient(read_text(name, pointer, limits), tuple(checked))


def _property(entry: Property, limits: WireLimits) -> Property:
    read_text(entry.name, "/properties", limits)
    return Property(entry.name, read_property(entry.value, entry.type, "/properties", limits), entry.type)


def _status(status: Status | None, limits: WireLimits) -> Status | None:
    if status is not None:
        read_text(status.code, "/status", limits)
        read_text(status.text, "/status", limits)
    return status


def _parts(e: PackedEnvelope, limits: WireLimits) -> tuple[Part, ...]:
    first = [] if e.payload is None else [EnvelopePart("1", e.content_type, e.payload)]
    return in_order(
        Part(
            id=read_text(part.id, "/parts", limits) or str(number),
            content_type=read_text(part.content_type, "/parts", limits) or OCTETS,
            data=part.data,
            expires_at_us=part.expires_at_us,
            attachment=part.attachment,
            headers=read_headers(part.headers.items(), "/parts", limits) if part.headers else (),
        )
        for number, part in enumerate(first + e.parts, start=1)
    )


def _plain(message: Delivered) -> Delivered:
    """Without what the network itself knows more of some deliveries."""
    return Delivered(**{name: getattr(message, name) for name in Delivered.__struct_fields__})


def envelope_of(message: Message) -> PackedEnvelope:
    first = message.parts[0] if message.parts else None
    alone = first is not None and first.id == "1" and not (first.attachment or first.expires_at_us or first.headers)
    rest = message.parts[1:] if alone else message.parts
    single = len(message.to) == 1 and not message.to[0].arguments
    envelope = PackedEnvelope(
        to=message.to[0].service if single else [_service(recipient) for recipient in message.to],
        payload=first.data if first is not None and alone else None,
        content_type=first.content_type if first is not None and alone else OCTETS,
        type=message.type,
        topic=message.topic,
        handle=message.handle,
        reference=message.reference,
        expires_at_us=message.expires_at_us,
        possible_duplicate=message.possible_duplicate,
        properties=message.properties,
        sender=message.sender,
        route=[_service(recipient) for recipient in message.route],
        status=message.status,
        parts=[_written(part) for part in rest],
        routing=message.routing,
    )
    if not message.traceparent:
        return envelope
    return TracedEnvelope(**asdict(envelope), traceparent=message.traceparent, tracestate=message.tracestate)


def _written(part: Part) -> EnvelopePart:
    return EnvelopePart(part.id, part.content_type, part.data, part.expires_at_us, part.attachment, dict(part.headers))


def _service(recipient: Recipient) -> _Service:
    if not recipient.arguments:
        return recipient.service
    return recipient.service, {argument.name: argument.value for argument in recipient.arguments}


ENVELOPE_FORM = EnvelopeCodec()
