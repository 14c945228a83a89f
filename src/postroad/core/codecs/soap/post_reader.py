"""Reads a SOAP post: from the elements of ``pr:Post`` to a ``Message``.

Both readers of posts (the general one over a tree, and the one for the canonical spelling) use ``assemble``, so that
they produce the same messages.
"""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.codecs.lexical import read_boolean, read_property, read_routing, read_text, read_time
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.parts import check_lists
from postroad.core.codecs.refusals import malformed
from postroad.core.codecs.soap.parts import read_parts
from postroad.core.codecs.soap.reader import SoapElement
from postroad.core.model.message import Argument, Message, MessageType, Part, Property, PropertyType, Recipient, Status

_TYPES = {kind.value: kind for kind in MessageType}
_PROPERTY_TYPES = {kind.value: kind for kind in PropertyType}
FIELDS = ("From", "Type", "Topic", "Handle", "PossibleDuplicate", "Reference", "Expiration", "Routing")
_HEADER = "/Envelope/Body/Post/Header/"


def read_type(text: str, pointer: str) -> MessageType:
    kind = _TYPES.get(text)
    if kind is None:
        raise malformed(f"{text[:40]!r} is not a message type; use one of {', '.join(_TYPES)}", pointer)
    return kind


def make_property(name: str, kind: str, value: str, pointer: str, limits: WireLimits) -> Property:
    if kind not in _PROPERTY_TYPES:
        raise malformed(
            f"{kind[:40]!r} is not a property type; use one of {', '.join(_PROPERTY_TYPES)}",
            pointer,
        )
    checked = _PROPERTY_TYPES[kind]
    return Property(read_text(name, pointer, limits), read_property(value, checked, pointer, limits), checked)


def assemble(
    texts: Sequence[str],
    to: tuple[Recipient, ...],
    route: tuple[Recipient, ...],
    properties: tuple[Property, ...],
    status: Status | None,
    parts: tuple[Part, ...],
    limits: WireLimits,
) -> Message:
    """Return the message from the texts of its header ``FIELDS`` ("" if absent) and its other elements."""
    sender, kind, topic, handle, duplicate, reference, expiration, routing = texts
    if max(map(len, texts)) > limits.text_chars:
        for name, text in zip(FIELDS, texts, strict=True):
            read_text(text, _HEADER + name, limits)
    message = Message(
        sender=sender,
        to=to,
        type=read_type(kind.strip(), _HEADER + "Type") if kind else MessageType.NOTIFICATION,
        topic=topic,
        handle=handle,
        possible_duplicate=bool(duplicate) and read_boolean(duplicate.strip(), _HEADER + "PossibleDuplicate"),
        reference=reference,
        expires_at_us=read_time(expiration.strip(), _HEADER + "Expiration") if expiration else 0,
        route=route,
        properties=properties,
        status=status,
        parts=parts,
        routing=read_routing(routing.strip(), _HEADER + "Routing") if routing else "",
    )
    check_lists(message, limits)
    return message


def read_post(post: SoapElement, limits: WireLimits) -> Message:
    """Return the message in a ``pr:Post`` element."""
    inside = post.fields(Header=1, Document=limits.parts, Attachment=limits.parts)
    parts = read_parts(inside["Document"], inside["Attachment"], limits)
    if not inside["Header"]:
        return assemble(
            texts=[""] * len(FIELDS), to=(), route=(), properties=(), status=None, parts=parts, limits=limits
        )
    header = inside["Header"][0].fields(
        From=1, To=1, Type=1, Topic=1, Handle=1, PossibleDuplicate=1, Reference=1, Expiration=1, Routing=1,
        Route=1, Property=limits.properties, Status=1,
    )  # fmt: skip
    return assemble(
        texts=[header[name][0].text if header[name] else "" for name in FIELDS],
        to=_services(header["To"], limits),
        route=_services(header["Route"], limits),
        properties=read_properties(header["Property"], limits),
        status=read_status(header["Status"], limits),
        parts=parts,
        limits=limits,
    )


def _services(lists: Sequence[SoapElement], limits: WireLimits) -> tuple[Recipient, ...]:
    if not lists:
        return ()
    services = lists[0].fields(Service=limits.recipients)["Service"]
    return tuple(Recipient(name_of(s, limits, "gcid"), read_arguments(s, limits)) for s in services)


def name_of(element: SoapElement, limits: WireLimits, *others: str) -> str:
    name = element.only_attributes("name", *others).get("name", "")
    if not name:
        raise malformed("the attribute name is missing", element.path)
    return read_text(name, element.path, limits)


def read_arguments(service: SoapElement, limits: WireLimits) -> tuple[Argument, ...]:
    arguments = service.fields(Argument=limits.arguments)["Argument"]
    return tuple(Argument(name_of(a, limits), read_text(a.text, a.path, limits)) for a in arguments)


def read_properties(elements: Sequence[SoapElement], limits: WireLimits) -> tuple[Property, ...]:
    return tuple(
        make_property(name_of(e, limits, "type"), e.attributes.get("type", "string"), e.text, e.path, limits)
        for e in elements
    )


def read_status(elements: Sequence[SoapElement], limits: WireLimits) -> Status | None:
    if not elements:
        return None
    status = elements[0]
    code = status.only_attributes("code").get("code", "")
    return Status(read_text(code, status.path, limits), read_text(status.text, status.path, limits))
