"""The JSON form: messages as plain objects for anyone with an HTTP client; refusals as RFC 9457 problem details.

A document is given as ``text``, as ``json`` (its bytes are kept exactly as written) or as ``base64``. Numbers among
the properties keep their digits. Unknown fields and repeated names are refused with a pointer.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from postroad.core.codecs import json_syntax
from postroad.core.codecs.json_parts import (
    count_parts,
    read_arguments,
    read_parts,
    read_properties,
    read_services,
    write_arguments,
    write_part,
    write_properties,
    write_service,
)
from postroad.core.codecs.json_shapes import (
    JsonCookie,
    JsonDelivered,
    JsonDeliveries,
    JsonParty,
    JsonPassed,
    JsonPoll,
    JsonPost,
    JsonProblem,
    JsonRecipient,
    JsonReference,
    JsonResult,
    JsonSelector,
    JsonSettled,
    JsonSettlement,
    JsonSettlementResult,
    JsonStatus,
    make_problem,
)
from postroad.core.codecs.lexical import read_routing, read_text, read_time, write_time
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.parts import check_lists
from postroad.core.codecs.requests import check_poll, check_settlement
from postroad.core.model.message import (
    AnsweredMessage,
    Cookie,
    Delivered,
    Message,
    PassedService,
    PostResult,
    RecipientResult,
    Status,
)
from postroad.core.model.polling import PollRequest, Selector, Settled, Settlement, SettlementResult
from postroad.errors import Refused

_encode = msgspec.json.encode
_POST = msgspec.json.Decoder(JsonPost)
_DELIVERIES = msgspec.json.Decoder(JsonDeliveries)
_RESULT = msgspec.json.Decoder(JsonResult)
_POLL = msgspec.json.Decoder(JsonPoll)
_SETTLEMENT = msgspec.json.Decoder(JsonSettlement)
_SETTLEMENT_RESULT = msgspec.json.Decoder(JsonSettlementResult)
_PROBLEM = msgspec.json.Decoder(JsonProblem)


class JsonCodec:
    """The codec of JSON messages; ``codec.py`` has its contract."""

    media_type = "application/json"
    refusal_media_type = "application/problem+json"

    def decode_post(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Message:
        return read_post(json_syntax.decode(body, _POST, limits, count_parts), limits)

    def encode_post(self, message: Message) -> bytes:
        return _encode(write_post(message))

    def encode_result(self, result: PostResult) -> bytes:
        return _encode(write_result(result))

    def decode_result(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> PostResult:
        return read_result(json_syntax.decode(body, _RESULT, limits))

    def encode_poll(self, request: PollRequest) -> bytes:
        select = request.select
        shape = JsonSelector(
            sender=select.sender,
            type=select.type,
            topic=select.topic,
            session=select.session,
            transaction=select.transaction,
            properties=dict(select.properties),
        )
        return _encode(
            JsonPoll(
                max=request.max,
                wait_seconds=request.wait_s,
                lease_seconds=request.lease_s,
                select=shape,
                trace=request.trace,
            )
        )

    def decode_poll(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> PollRequest:
        shape = json_syntax.decode(body, _POLL, limits)
        select = Selector(
            sender=shape.select.sender,
            type=shape.select.type,
            topic=shape.select.topic,
            session=shape.select.session,
            transaction=shape.select.transaction,
            properties=tuple(shape.select.properties.items()),
        )
        request = PollRequest(
            max=shape.max, wait_s=shape.wait_seconds, lease_s=shape.lease_seconds, select=select, trace=shape.trace
        )
        return check_poll(request, limits)

    def encode_delivered(self, messages: Sequence[Delivered]) -> bytes:
        return _encode(JsonDeliveries([write_delivered(message) for message in messages]))

    def decode_delivered(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> list[Delivered]:
        deliveries = json_syntax.decode(body, _DELIVERIES, limits)
        return [read_delivered(message, limits) for message in deliveries.messages]

    def encode_settlement(self, settlement: Settlement) -> bytes:
        return _encode(
            JsonSettlement(
                tokens=list(settlement.tokens),
                outcome=settlement.outcome,
                delay_seconds=settlement.delay_s,
                reason=settlement.reason,
            )
        )

    def decode_settlement(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Settlement:
        shape = json_syntax.decode(body, _SETTLEMENT, limits)
        settlement = Settlement(
            tokens=tuple(shape.tokens), outcome=shape.outcome, delay_s=shape.delay_seconds, reason=shape.reason
        )
        return check_settlement(settlement, limits)

    def encode_settlement_result(self, result: SettlementResult) -> bytes:
        settled = [JsonSettled(token=s.token, code=s.code, detail=s.detail) for s in result.settled]
        return _encode(JsonSettlementResult(settled))

    def decode_settlement_result(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> SettlementResult:
        shape = json_syntax.decode(body, _SETTLEMENT_RESULT, limits)
        return SettlementResult(
            settled=tuple(Settled(token=s.token, code=s.code, detail=s.detail) for s in shape.settled)
        )

    def encode_refusal(
        self, code: str, title: str, detail: str, pointer: str = "", session: str = "", status: int = 400
    ) -> bytes:
        return _encode(make_problem(code, title, status=status, detail=detail, pointer=pointer, session=session))

    def decode_refusal(self, body: bytes, limits: WireLimits = DEFAULT_LIMITS) -> Refused:
        return json_syntax.decode(body, _PROBLEM, limits).to_refusal()


def read_post(post: JsonPost, limits: WireLimits) -> Message:
    """Return the message of a decoded JSON post."""
    texts = (post.sender, post.topic, post.handle, post.reference)
    if max(map(len, texts)) > limits.text_chars or not "".join(texts).isprintable():
        for name, text in zip(("from", "topic", "handle", "reference"), texts, strict=True):
            read_text(text, "/" + name, limits)
    message = Message(
        sender=post.sender,
        to=read_services(post.to, "/to", limits),
        type=post.type,
        topic=post.topic,
        handle=post.handle,
        possible_duplicate=post.possible_duplicate,
        reference=post.reference,
        expires_at_us=read_time(post.expiration, "/expiration") if post.expiration else 0,
        routing=read_routing(post.routing, "/routing") if post.routing else "",
        route=read_services(post.route, "/route", limits) if post.route else (),
        properties=read_properties(post.properties, limits) if post.properties else (),
        status=_read_status(post.status, limits),
        parts=read_parts(post.documents, post.attachments, limits),
        traceparent=post.traceparent,
        tracestate=post.tracestate,
    )
    check_lists(message, limits)
    return message


def write_post(message: Message) -> JsonPost:
    return JsonPost(
        sender=message.sender,
        to=[write_service(recipient) for recipient in message.to],
        type=message.type,
        topic=message.topic,
        handle=message.handle,
        possible_duplicate=message.possible_duplicate,
        reference=message.reference,
        expiration=write_time(message.expires_at_us) if message.expires_at_us else "",
        routing=message.routing,
        route=[write_service(recipient) for recipient in message.route],
        properties=write_properties(message.properties),
        status=_write_status(message.status),
        documents=[write_part(part) for part in message.parts if not part.attachment],
        attachments=[write_part(part) for part in message.parts if part.attachment],
        traceparent=message.traceparent,
        tracestate=message.tracestate,
    )


def _read_status(status: JsonStatus | None, limits: WireLimits) -> Status | None:
    if status is None:
        return None
    return Status(read_text(status.code, "/status/code", limits), read_text(status.text, "/status/text", limits))


def _write_status(status: Status | None) -> JsonStatus | None:
    return JsonStatus(code=status.code, text=status.text) if status else None


def write_delivered(message: Delivered) -> JsonDelivered:
    reference = message.reference
    return JsonDelivered(
        session=message.session,
        token=message.token,
        transaction=message.transaction,
        sender=JsonParty(service=message.sender, gcid=message.sender_gcid),
        recipient=JsonParty(
            service=message.recipient, gcid=message.recipient_gcid, arguments=write_arguments(message.arguments)
        ),
        type=message.type,
        topic=message.topic,
        handle=message.handle,
        possible_duplicate=message.possible_duplicate,
        reference=JsonReference(session=reference.session, handle=reference.handle) if reference else None,
        invoker=message.invoker,
        status=_write_status(message.status),
        properties=write_properties(message.properties),
        posted_at=write_time(message.posted_at_us),
        expiration=write_time(message.expires_at_us) if message.expires_at_us else "",
        attempt=message.attempt,
        in_transit=message.in_transit,
        documents=[write_part(part) for part in message.parts if not part.attachment],
        attachments=[write_part(part) for part in message.parts if part.attachment],
        trace=[_write_passed(one) for one in message.trace] if message.trace else [],
        cookie=_write_cookie(message.cookie) if message.cookie else None,
        traceparent=message.traceparent,
        tracestate=message.tracestate,
    )


def _write_passed(passed: PassedService) -> JsonPassed:
    return JsonPassed(service=passed.service, at=write_time(passed.at_us), status=_write_status(passed.status))


def _write_cookie(cookie: Cookie) -> JsonCookie:
    return JsonCookie(content=cookie.content, content_type=cookie.content_type)


def read_delivered(message: JsonDelivered, limits: WireLimits) -> Delivered:
    reference = message.reference
    return Delivered(
        session=message.session,
        token=message.token,
        transaction=message.transaction,
        sender=message.sender.service,
        sender_gcid=message.sender.gcid,
        recipient=message.recipient.service,
        recipient_gcid=message.recipient.gcid,
        type=message.type,
        topic=message.topic,
        handle=message.handle,
        arguments=read_arguments(message.recipient.arguments, "/to", limits),
        reference=AnsweredMessage(reference.session, reference.handle) if reference else None,
        invoker=message.invoker,
        status=_read_status(message.status, limits),
        properties=read_properties(message.properties, limits),
        posted_at_us=read_time(message.posted_at, "/postedAt"),
        expires_at_us=read_time(message.expiration, "/expiration") if message.expiration else 0,
        attempt=message.attempt,
        in_transit=message.in_transit,
        possible_duplicate=message.possible_duplicate,
        parts=read_parts(message.documents, message.attachments, limits),
        trace=tuple([_read_passed(one, limits) for one in message.trace]),
        cookie=Cookie(message.cookie.content, message.cookie.content_type) if message.cookie else None,
        traceparent=message.traceparent,
        tracestate=message.tracestate,
    )


def _read_passed(passed: JsonPassed, limits: WireLimits) -> PassedService:
    return PassedService(passed.service, read_time(passed.at, "/trace/at"), _read_status(passed.status, limits))


def write_result(result: PostResult) -> JsonResult:
    recipients = write_recipients(result.recipients)
    return JsonResult(session=result.session, transaction=result.transaction, recipients=recipients)


def write_recipients(recipients: Sequence[RecipientResult]) -> list[JsonRecipient]:
    return [JsonRecipient(service=r.service, code=r.code, detail=r.detail) for r in recipients]


def read_result(shape: JsonResult) -> PostResult:
    recipients = tuple(RecipientResult(service=r.service, code=r.code, detail=r.detail) for r in shape.recipients)
    return PostResult(session=shape.session, transaction=shape.transaction, recipients=recipients)


JSON_FORM = JsonCodec()
