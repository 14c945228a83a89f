"""Documents, properties and services between JSON and the model."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import UNSET, Raw

from postroad.core.codecs.json_nesting import can_stand_inside
from postroad.core.codecs.json_shapes import JsonPart, JsonService
from postroad.core.codecs.lexical import read_base64, read_property, read_text, read_time, write_time
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.parts import JSON, OCTETS, TEXT, check_count, is_xml, read_headers
from postroad.core.codecs.property_values import typed_value, write_value
from postroad.core.codecs.refusals import malformed
from postroad.core.model.message import Argument, Part, Property, PropertyType, Recipient

_EMBEDDED_LEVELS = DEFAULT_LIMITS.json_depth - 8  # leaves room for the message around it


class WithParts(Protocol):
    documents: list[JsonPart]
    attachments: list[JsonPart]


def count_parts(shape: WithParts, limits: WireLimits) -> None:
    check_count([*shape.documents, *shape.attachments], limits.parts, "documents and attachments", "/documents")


def read_parts(documents: Sequence[JsonPart], attachments: Sequence[JsonPart], limits: WireLimits) -> tuple[Part, ...]:
    if not attachments and len(documents) == 1:
        return (_part(documents[0], 1, False, "/documents/0", limits),)
    check_count([*documents, *attachments], limits.parts, "documents and attachments", "/documents")
    first = len(documents) + 1
    return tuple(
        [_part(part, number, False, f"/documents/{number - 1}", limits) for number, part in enumerate(documents, 1)]
        + [_part(part, n, True, f"/attachments/{n - first}", limits) for n, part in enumerate(attachments, first)]
    )


def _part(part: JsonPart, number: int, attachment: bool, pointer: str, limits: WireLimits) -> Part:
    default_type, data = _content(part, pointer)
    return Part(
        id=read_text(part.id, pointer + "/id", limits) or str(number),
        content_type=read_text(part.content_type, pointer + "/contentType", limits) or default_type,
        data=data,
        expires_at_us=read_time(part.expiration, pointer + "/expiration") if part.expiration else 0,
        attachment=attachment,
        headers=read_headers(part.headers.items(), pointer + "/headers", limits) if part.headers else (),
    )


def _content(part: JsonPart, pointer: str) -> tuple[str, bytes]:
    if (part.text is not UNSET) + (part.json is not UNSET) + (part.base64 is not UNSET) != 1:
        raise malformed("a part has exactly one of text, json and base64", pointer)
    if isinstance(part.text, str):
        return TEXT, part.text.encode()
    if isinstance(part.json, Raw):
        return JSON, bytes(part.json)
    return OCTETS, read_base64(str(part.base64), pointer + "/base64")


def write_part(part: Part) -> JsonPart:
    expiration = write_time(part.expires_at_us) if part.expires_at_us else ""
    written = JsonPart(id=part.id, content_type=part.content_type, expiration=expiration, headers=dict(part.headers))
    kind = part.content_type.lower()
    if kind.startswith(JSON) and can_stand_inside(part.data, _EMBEDDED_LEVELS):
        written.json = Raw(part.data)
        return written
    if kind.startswith(("text/", JSON)) or is_xml(kind):
        try:
            written.text = part.data.decode()
            return written
        except UnicodeDecodeError:
            pass  # not the text it says it is: Base64 carries it all the same
    written.base64 = b2a_base64(part.data, newline=False).decode()
    return written


def read_services(services: Sequence[str | JsonService], pointer: str, limits: WireLimits) -> tuple[Recipient, ...]:
    check_count(services, limits.recipients, "services", pointer)
    return tuple([_service(service, f"{pointer}/{number}", limits) for number, service in enumerate(services)])


def _service(service: str | JsonService, pointer: str, limits: WireLimits) -> Recipient:
    name = service if isinstance(service, str) else service.service
    if not name:
        raise malformed("the name of a service is missing", pointer)
    arguments = () if isinstance(service, str) else read_arguments(service.arguments, pointer, limits)
    return Recipient(read_text(name, pointer, limits), arguments)


def read_arguments(arguments: dict[str, str], pointer: str, limits: WireLimits) -> tuple[Argument, ...]:
    return tuple(
        [
            Argument(read_text(name, pointer, limits), read_text(value, f"{pointer}/arguments/{name[:80]}", limits))
            for name, value in arguments.items()
        ]
    )


def write_service(recipient: Recipient) -> str | JsonService:
    if not recipient.arguments:
        return recipient.service
    return JsonService(service=recipient.service, arguments=write_arguments(recipient.arguments))


def write_arguments(arguments: Iterable[Argument]) -> dict[str, str]:
    return {argument.name: argument.value for argument in arguments}


def read_properties(properties: dict[str, Raw], limits: WireLimits) -> tuple[Property, ...]:
    return tuple([_property(name, bytes(raw), limits) for name, raw in properties.items()])


def _property(name: str, raw: bytes, limits: WireLimits) -> Property:
    pointer = f"/properties/{name[:80]}"
    read_text(name, pointer, limits)
    kind, text = typed_value(raw, pointer)
    return Property(name, read_property(text, kind, pointer, limits), kind)


def write_properties(properties: Iterable[Property]) -> dict[str, Raw]:
    return {entry.name: Raw(_value(entry)) for entry in properties}


def _value(entry: Property) -> bytes:
    pointer = f"/properties/{entry.name[:80]}"
    checked = (
        entry.value
        if entry.type is PropertyType.STRING
        else read_property(entry.value, entry.type, pointer, DEFAULT_LIMITS)
    )
    return write_value(entry.type, checked)
