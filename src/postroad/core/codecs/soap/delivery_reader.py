"""Reads polls, settlements, deliveries and the responses to them from SOAP."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

from postroad.core.codecs.lexical import read_boolean, read_text, read_time
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.refusals import malformed
from postroad.core.codecs.requests import check_poll, check_settlement
from postroad.core.codecs.soap.parts import read_parts
from postroad.core.codecs.soap.post_reader import name_of, read_arguments, read_properties, read_status, read_type
from postroad.core.codecs.soap.reader import SoapElement
from postroad.core.model.message import AnsweredMessage, Cookie, Delivered, PassedService, PostResult, RecipientResult
from postroad.core.model.polling import (
    EVERYTHING,
    TOKENS_MAX,
    Outcome,
    PollRequest,
    Selector,
    Settled,
    Settlement,
    SettlementResult,
)

Fields = dict[str, list[SoapElement]]
STOPS_MAX = 1_000


def _text(fields: Fields, name: str, limits: WireLimits) -> str:
    found = fields[name]
    return read_text(found[0].text, found[0].path, limits) if found else ""


def _number(fields: Fields, name: str, default: float) -> float:
    if not fields[name]:
        return default
    text, path = fields[name][0].text.strip(), fields[name][0].path
    try:
        value = float(text) if len(text) <= 32 else -1.0
    except ValueError:
        value = -1.0
    if not isfinite(value) or value < 0:
        raise malformed(f"{text[:40]!r} is not a number of seconds or messages", path)
    return value


def _time(fields: Fields, name: str) -> int:
    return read_time(fields[name][0].text.strip(), fields[name][0].path) if fields[name] else 0


def _flag(fields: Fields, name: str) -> bool:
    return bool(fields[name]) and read_boolean(fields[name][0].text.strip(), fields[name][0].path)


def read_poll(poll: SoapElement, limits: WireLimits) -> PollRequest:
    fields = poll.fields(Max=1, WaitSeconds=1, LeaseSeconds=1, Select=1, Trace=1)
    most = _number(fields, "Max", PollRequest().max)
    request = PollRequest(
        max=int(most),
        wait_s=_number(fields, "WaitSeconds", 0.0),
        lease_s=_number(fields, "LeaseSeconds", 0.0),
        select=_selector(fields["Select"][0], limits) if fields["Select"] else EVERYTHING,
        trace=_flag(fields, "Trace"),
    )
    return check_poll(request, limits)


def _selector(select: SoapElement, limits: WireLimits) -> Selector:
    fields = select.fields(Sender=1, Type=1, Topic=1, Session=1, Transaction=1, Property=limits.properties)
    properties = tuple((name_of(e, limits), read_text(e.text, e.path, limits)) for e in fields["Property"])
    kind = _text(fields, "Type", limits).strip()
    return Selector(
        sender=_text(fields, "Sender", limits),
        type=read_type(kind, select.path) if kind else None,
        topic=_text(fields, "Topic", limits),
        session=_text(fields, "Session", limits),
        transaction=_text(fields, "Transaction", limits),
        properties=properties,
    )


def read_settlement(element: SoapElement, limits: WireLimits) -> Settlement:
    fields = element.fields(Token=TOKENS_MAX, Outcome=1, DelaySeconds=1, Reason=1)
    outcome = _text(fields, "Outcome", limits).strip() or "ack"
    if outcome not in ("ack", "nack"):
        raise malformed(f"{outcome[:40]!r} is not an outcome; use ack or nack", element.path + "/Outcome")
    settlement = Settlement(
        tokens=tuple(read_text(token.text, token.path, limits) for token in fields["Token"]),
        outcome=Outcome(outcome),
        delay_s=_number(fields, "DelaySeconds", 0.0),
        reason=_text(fields, "Reason", limits),
    )
    return check_settlement(settlement, limits)


def read_settlement_result(element: SoapElement, limits: WireLimits) -> SettlementResult:
    settled = element.fields(Delivery=TOKENS_MAX)["Delivery"]
    return SettlementResult(
        settled=tuple(_settled(delivery.only_attributes("token", "code", "detail")) for delivery in settled)
    )


def _settled(attributes: Mapping[str, str]) -> Settled:

    return Settled(
        token=attributes.get("token", ""), code=attributes.get("code", ""), detail=attributes.get("detail", "")
    )


def read_result(element: SoapElement, limits: WireLimits) -> PostResult:
    fields = element.fields(Session=1, Transaction=1, Recipient=limits.recipients)
    return PostResult(
        session=_text(fields, "Session", limits),
        transaction=_text(fields, "Transaction", limits),
        recipients=tuple(
            RecipientResult(
                service=name_of(recipient, limits, "code", "detail"),
                code=recipient.attributes.get("code", ""),
                detail=recipient.attributes.get("detail", ""),
            )
            for recipient in fields["Recipient"]
        ),
    )


def read_delivered(element: SoapElement, limits: WireLimits) -> list[Delivered]:
    return [_delivered(message, limits) for message in element.fields(Message=limits.bulk_messages)["Message"]]


def _delivered(message: SoapElement, limits: WireLimits) -> Delivered:
    inside = message.fields(Header=1, Document=limits.parts, Attachment=limits.parts)
    if not inside["Header"]:
        raise malformed("a delivered message has a Header", message.path)
    header = inside["Header"][0].fields(
        Session=1, Token=1, Transaction=1, From=1, To=1, Type=1, Topic=1, Handle=1, PossibleDuplicate=1, Reference=1,
        Invoker=1, PostedAt=1, Expiration=1, Attempt=1, InTransit=1, Property=limits.properties, Status=1, Trace=1,
        Cookie=1,
    )  # fmt: skip
    sender, recipient = _service(header, "From", message), _service(header, "To", message)
    return Delivered(
        session=_text(header, "Session", limits),
        token=_text(header, "Token", limits),
        transaction=_text(header, "Transaction", limits),
        sender=sender.attributes.get("name", ""),
        sender_gcid=sender.attributes.get("gcid", ""),
        recipient=recipient.attributes.get("name", ""),
        recipient_gcid=recipient.attributes.get("gcid", ""),
        type=read_type(_text(header, "Type", limits).strip(), message.path),
        topic=_text(header, "Topic", limits),
        handle=_text(header, "Handle", limits),
        arguments=read_arguments(recipient, limits),
        reference=_reference(header),
        invoker=_text(header, "Invoker", limits),
        status=read_status(header["Status"], limits),
        properties=read_properties(header["Property"], limits),
        posted_at_us=_time(header, "PostedAt"),
        expires_at_us=_time(header, "Expiration"),
        attempt=int(_number(header, "Attempt", 1)),
        in_transit=_flag(header, "InTransit"),
        possible_duplicate=_flag(header, "PossibleDuplicate"),
        parts=read_parts(inside["Document"], inside["Attachment"], limits),
        trace=_trace(header["Trace"][0], limits) if header["Trace"] else (),
        cookie=_cookie(header["Cookie"][0]) if header["Cookie"] else None,
    )


def _trace(trace: SoapElement, limits: WireLimits) -> tuple[PassedService, ...]:
    return tuple([_passed(stop, limits) for stop in trace.fields(Stop=STOPS_MAX)["Stop"]])


def _cookie(cookie: SoapElement) -> Cookie:
    return Cookie(cookie.text, cookie.only_attributes("contentType").get("contentType", "text/plain"))


def _passed(stop: SoapElement, limits: WireLimits) -> PassedService:
    attributes = stop.only_attributes("name", "at")
    status = read_status(stop.fields(Status=1)["Status"], limits)
    return PassedService(attributes.get("name", ""), read_time(attributes.get("at", ""), stop.path), status)


def _service(header: Fields, name: str, message: SoapElement) -> SoapElement:
    services = header[name][0].fields(Service=1)["Service"] if header[name] else []
    if not services:
        raise malformed(f"a delivered message names a Service in {name}", message.path)
    services[0].only_attributes("name", "gcid")
    return services[0]


def _reference(header: Fields) -> AnsweredMessage | None:
    if not header["Reference"]:
        return None
    attributes = header["Reference"][0].only_attributes("session", "handle")
    return AnsweredMessage(attributes.get("session", ""), attributes.get("handle", ""))
