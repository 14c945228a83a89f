"""Writes messages, requests and responses as SOAP elements, escaping only where needed.

Rule: the elements around a document declare only the prefixes ``soap`` and ``pr`` and no default namespace, so that an
inline document has the same meaning inside the envelope as outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from postroad.core.codecs.lexical import write_time
from postroad.core.codecs.soap.parts import write_part
from postroad.core.codecs.soap.trace_properties import list_properties
from postroad.core.codecs.xml_escape import attribute_value, text_value
from postroad.core.model.message import (
    Argument,
    Cookie,
    Delivered,
    Message,
    MessageType,
    Part,
    PassedService,
    PostResult,
    Property,
    PropertyType,
    Recipient,
    RecipientResult,
    Status,
)
from postroad.core.model.polling import PollRequest, Settlement, SettlementResult

_TYPED = {kind: "" if kind is PropertyType.STRING else f' type="{kind.value}"' for kind in PropertyType}


def _field(name: str, text: str) -> str:
    return f"<pr:{name}>{text_value(text)}</pr:{name}>" if text else ""


def _number(name: str, value: float) -> str:
    return f"<pr:{name}>{value!r}</pr:{name}>" if value else ""


def _attribute(name: str, text: str) -> str:
    return f' {name}="{attribute_value(text)}"' if text else ""


def _arguments(arguments: Iterable[Argument]) -> str:
    return "".join(
        f'<pr:Argument name="{attribute_value(argument.name)}">{text_value(argument.value)}</pr:Argument>'
        for argument in arguments
    )


def _services(name: str, recipients: Iterable[Recipient]) -> str:
    listed = "".join(
        f'<pr:Service name="{attribute_value(recipient.service)}">{_arguments(recipient.arguments)}</pr:Service>'
        if recipient.arguments
        else f'<pr:Service name="{attribute_value(recipient.service)}"/>'
        for recipient in recipients
    )
    return f"<pr:{name}>{listed}</pr:{name}>" if listed else ""


def _properties(properties: Iterable[Property]) -> str:
    return "".join(
        f'<pr:Property name="{attribute_value(p.name)}"{_TYPED[p.type]}>{text_value(p.value)}</pr:Property>'
        for p in properties
    )


def _status(status: Status | None) -> str:
    if status is None:
        return ""
    return f'<pr:Status code="{attribute_value(status.code)}">{text_value(status.text)}</pr:Status>'


def _parts(parts: Sequence[Part]) -> bytes:
    return write_part(parts[0]) if len(parts) == 1 else b"".join(map(write_part, parts))


def write_post(message: Message) -> bytes:
    type_text = "" if message.type is MessageType.NOTIFICATION else message.type.value
    header = (
        "<pr:Post><pr:Header>"
        f"{_field('From', message.sender)}{_services('To', message.to)}{_field('Type', type_text)}"
        f"{_field('Topic', message.topic)}{_field('Handle', message.handle)}"
        f"{'<pr:PossibleDuplicate>true</pr:PossibleDuplicate>' if message.possible_duplicate else ''}"
        f"{_field('Reference', message.reference)}"
        f"{_field('Expiration', write_time(message.expires_at_us)) if message.expires_at_us else ''}"
        f"{_field('Routing', message.routing)}{_services('Route', message.route)}"
        f"{_properties(list_properties(message))}{_status(message.status)}</pr:Header>"
    )
    return header.encode() + _parts(message.parts) + b"</pr:Post>"


def write_delivered(messages: Sequence[Delivered]) -> bytes:
    return b"<pr:PollResponse>%b</pr:PollResponse>" % b"".join(map(_delivered, messages))


def _delivered(m: Delivered) -> bytes:
    reference = ""
    if m.reference is not None:
        handle = _attribute("handle", m.reference.handle)
        reference = f'<pr:Reference session="{attribute_value(m.reference.session)}"{handle}/>'
    optional = "" if not (m.possible_duplicate or m.in_transit or m.expires_at_us) else _flags(m)
    header = (
        f"<pr:Message><pr:Header><pr:Session>{text_value(m.session)}</pr:Session><pr:Token>{text_value(m.token)}</pr:Token>"
        f"<pr:Transaction>{text_value(m.transaction)}</pr:Transaction>"
        f'<pr:From><pr:Service name="{attribute_value(m.sender)}" gcid="{attribute_value(m.sender_gcid)}"/></pr:From>'
        f'<pr:To><pr:Service name="{attribute_value(m.recipient)}" gcid="{attribute_value(m.recipient_gcid)}">'
        f"{_arguments(m.arguments) if m.arguments else ''}</pr:Service></pr:To>"
        f"<pr:Type>{m.type.value}</pr:Type>{_field('Topic', m.topic)}{_field('Handle', m.handle)}{reference}"
        f"{_field('Invoker', m.invoker)}<pr:PostedAt>{write_time(m.posted_at_us)}</pr:PostedAt>"
        f"<pr:Attempt>{m.attempt}</pr:Attempt>{optional}"
        f"{_properties(list_properties(m)) if m.properties or m.traceparent else ''}"
        f"{_status(m.status)}{_trace(m.trace) if m.trace else ''}"
        f"{_cookie(m.cookie) if m.cookie else ''}</pr:Header>"
    )
    return b"%b%b</pr:Message>" % (header.encode(), _parts(m.parts))


def _trace(trace: Sequence[PassedService]) -> str:
    stops = "".join(
        f'<pr:Stop name="{attribute_value(one.service)}" at="{write_time(one.at_us)}">{_status(one.status)}</pr:Stop>'
        for one in trace
    )
    return f"<pr:Trace>{stops}</pr:Trace>"


def _cookie(cookie: Cookie) -> str:
    kind = attribute_value(cookie.content_type)
    return f'<pr:Cookie contentType="{kind}">{text_value(cookie.content)}</pr:Cookie>'


def _flags(m: Delivered) -> str:
    expiration = _field("Expiration", write_time(m.expires_at_us)) if m.expires_at_us else ""
    duplicate = "<pr:PossibleDuplicate>true</pr:PossibleDuplicate>" if m.possible_duplicate else ""
    return expiration + duplicate + ("<pr:InTransit>true</pr:InTransit>" if m.in_transit else "")


def write_result(result: PostResult) -> bytes:
    recipients = _recipient_results(result.recipients)
    return (
        f"<pr:PostResponse><pr:Session>{text_value(result.session)}</pr:Session>"
        f"<pr:Transaction>{text_value(result.transaction)}</pr:Transaction>{recipients}</pr:PostResponse>"
    ).encode()


@lru_cache(maxsize=256)
def _recipient_results(recipients: tuple[RecipientResult, ...]) -> str:
    """Return the encoded recipients of a post's result; cached, because clients often repeat the same recipients."""
    return "".join(
        [
            f"<pr:Recipient{_attribute('name', r.service)}{_attribute('code', r.code)}{_attribute('detail', r.detail)}/>"
            for r in recipients
        ]
    )


def write_poll(request: PollRequest) -> bytes:
    select = request.select
    inside = (
        f"{_field('Sender', select.sender)}{_field('Type', select.type.value if select.type else '')}"
        f"{_field('Topic', select.topic)}{_field('Session', select.session)}{_field('Transaction', select.transaction)}"
        + "".join(
            f'<pr:Property name="{attribute_value(name)}">{text_value(value)}</pr:Property>'
            for name, value in select.properties
        )
    )
    return (
        f"<pr:Poll><pr:Max>{request.max}</pr:Max>{_number('WaitSeconds', request.wait_s)}"
        f"{_number('LeaseSeconds', request.lease_s)}{f'<pr:Select>{inside}</pr:Select>' if inside else ''}"
        f"{'<pr:Trace>true</pr:Trace>' if request.trace else ''}</pr:Poll>"
    ).encode()


def write_settlement(settlement: Settlement) -> bytes:
    tokens = "".join(f"<pr:Token>{text_value(token)}</pr:Token>" for token in settlement.tokens)
    return (
        f"<pr:Acknowledge>{tokens}<pr:Outcome>{settlement.outcome.value}</pr:Outcome>"
        f"{_number('DelaySeconds', settlement.delay_s)}{_field('Reason', settlement.reason)}</pr:Acknowledge>"
    ).encode()


def write_settlement_result(result: SettlementResult) -> bytes:
    settled = "".join(
        f'<pr:Delivery token="{attribute_value(s.token)}"{_attribute("code", s.code)}{_attribute("detail", s.detail)}/>'
        for s in result.settled
    )
    return f"<pr:AcknowledgeResponse>{settled}</pr:AcknowledgeResponse>".encode()
