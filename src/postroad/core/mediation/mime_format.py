"""Reads and writes plain MIME: a single document, or several in a multipart.

AS2 carries the same: an entity with its own header block. Rule: beside a single document, only content headers are
read from the transport or passed to it, since HTTP uses all others itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import Entity, make_boundary, read_entity, read_multipart, write_multipart
from postroad.core.codecs.parts import OCTETS, TEXT
from postroad.core.codecs.soap.recognition import version_of
from postroad.core.mediation.conversion_losses import disposition_lost, headers_lost, spelling_lost, whole_lost
from postroad.core.mediation.mime_entities import (
    EXPIRES,
    encode_header_value,
    fields_of,
    head_of,
    in_order,
    length_of,
    numbers_of,
    part_of,
    parts_of,
)
from postroad.core.mediation.model import DecodedMessage, EncodedMessage, OutgoingMessage, Wire
from postroad.core.mediation.part_names import to_one_line
from postroad.core.mediation.wrapper import Wrapper, cut_wire, mark_of, stretches
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

MESSAGE = "message/rfc822"
_BARE_LF = re.compile(rb"(?<!\r)\n")
OF_CONTENT = frozenset(
    (
        "content-disposition",
        "content-description",
        "content-language",
        "content-location",
        "content-id",
        EXPIRES.lower(),
    )
)


def decode_wire(wire: Wire, limits: WireLimits = DEFAULT_LIMITS, format: Format = Format.MIME) -> DecodedMessage:
    """Decode an entity whose header block is the transport's, or its own if it has one."""
    kind = media_type_of(wire.content_type)
    if kind == MESSAGE:
        return _message(wire.body, limits, format)
    if kind.startswith("multipart/"):
        return _several(wire.body, wire.content_type, format, limits)
    if not wire.body and not kind:
        return DecodedMessage(format=format, parts=())
    said = [(name.title(), value) for name, value in wire.headers if name in OF_CONTENT or name == "content-type"]
    return DecodedMessage(format=format, parts=(part_of(said, wire.body, "1", limits, usual=OCTETS),))


def _message(body: bytes, limits: WireLimits, format: Format) -> DecodedMessage:
    """Decode an entity whose header block and empty line are in the body."""
    entity = read_entity(body, limits)
    taken = decode_entity(entity, limits, format)
    if taken.wrapper is None:
        return taken
    return replace(taken, wrapper=replace(taken.wrapper, media_type=MESSAGE, head=body[: len(body) - len(entity.body)]))


def decode_entity(entity: Entity, limits: WireLimits = DEFAULT_LIMITS, format: Format = Format.MIME) -> DecodedMessage:
    """Decode an entity that has its own header block."""
    content_type = entity.content_type or OCTETS
    if media_type_of(content_type).startswith("multipart/"):
        taken = _several(bytes(entity.body), content_type, format, limits)
        return replace(taken, wrapper=replace(taken.wrapper, head=entity.head)) if taken.wrapper is not None else taken
    usual = TEXT if entity.head else OCTETS  # without a header block, nothing is known of the content
    part = part_of(entity.headers(), entity.data(limits), "1", limits, usual=usual)
    pieces = cut_wire(bytes(entity.body), stretches([part], [entity.transfer_encoding])) or (b"",)
    wrapper = Wrapper(format, content_type, pieces, mark_of([part]), head=entity.head)
    return DecodedMessage(format=format, parts=(part,), wrapper=wrapper, notes=entity.tolerated)


def _several(body: bytes, content_type: str, format: Format, limits: WireLimits) -> DecodedMessage:
    multipart = read_multipart(content_type, body, limits)
    parts = parts_of(multipart.parts, 1, limits)
    encodings = [entity.transfer_encoding for entity in in_order(multipart.parts)]
    wrapper = Wrapper(format, content_type, cut_wire(body, stretches(parts, encodings)), mark_of(parts))
    return DecodedMessage(format=format, parts=parts, wrapper=wrapper, notes=multipart.tolerated)


def encode_entity(message: OutgoingMessage) -> EncodedMessage:
    """Write the entity that AS2 sends. It has no place for the network's properties."""
    given = encode_message(message, Format.AS2)
    lost = tuple([f"the property {entry.name[:80]} cannot be represented in AS2" for entry in message.properties])
    return replace(given, dropped=given.dropped + lost) if lost else given


def encode_message(message: OutgoingMessage, format: Format = Format.MIME) -> EncodedMessage:
    wrapper = message.in_wrapper(Format.MIME, Format.AS2)
    given = _as_came(message, wrapper, format) if wrapper is not None and wrapper.wire else None
    if given is not None:
        return given
    if not message.parts:
        return EncodedMessage(media_type="", body=[b""])
    return _single(message.parts[0], format) if _stands_alone(message.parts) else _multipart(message)


def _stands_alone(parts: Sequence[Part]) -> bool:
    """Whether the message is one document, and of no type that its reader would split instead."""
    kind = media_type_of(parts[0].content_type)
    return len(parts) == 1 and not parts[0].attachment and kind != MESSAGE and not kind.startswith("multipart/")


def _as_came(message: OutgoingMessage, wrapper: Wrapper, format: Format) -> EncodedMessage | None:
    """Return the entity with its original bytes; None if it had its own header block that does not fit."""
    body = wrapper.fill(message.parts)
    if format is not Format.AS2 and media_type_of(wrapper.media_type) == MESSAGE:
        return EncodedMessage(media_type=MESSAGE, body=[wrapper.head, *body])
    if not wrapper.head:
        return EncodedMessage(media_type=wrapper.media_type, body=body)
    entity = wrapper.header_block()
    if format is Format.AS2 and entity.head.endswith(b"\n"):
        head = _BARE_LF.sub(b"\r\n", entity.head)  # the lines of a header end so wherever it is signed
        return EncodedMessage(media_type=entity.content_type or OCTETS, body=body, head=head)
    if format is Format.AS2 or not media_type_of(wrapper.media_type).startswith("multipart/"):
        return None  # its header was removed, or it is a single document, which is delivered without transfer encoding
    headers = tuple([(name, value) for name, value in entity.headers() if name.lower() in OF_CONTENT])
    dropped = tuple(whole_lost(entity.headers(), OF_CONTENT))
    return EncodedMessage(media_type=wrapper.media_type, body=body, headers=headers, dropped=dropped)


def _single(part: Part, format: Format) -> EncodedMessage:
    """Encode a single document. In AS2 its header block is part of the body, and holds any field."""
    fields = fields_of(part, 1)
    dropped = [*spelling_lost(part)]
    if format is not Format.AS2:
        fields = [(name, value) for name, value in fields if name.lower() in OF_CONTENT]
        dropped += headers_lost(part, "a message of one document", OF_CONTENT)
    return EncodedMessage(
        media_type=encode_header_value(to_one_line(part.content_type)),
        body=[part.data],
        headers=tuple(fields),
        dropped=tuple(dropped),
    )


def _multipart(message: OutgoingMessage) -> EncodedMessage:
    parts = message.parts
    came = message.in_wrapper(Format.DIME)
    boundary = make_boundary([part.data for part in parts], message.seed)
    heads = [
        head_of(part, number, length_of(part, index, came))
        for index, (number, part) in enumerate(zip(numbers_of(parts), parts, strict=True))
    ]
    dropped = [*disposition_lost(parts, "MIME")]
    for part in parts:
        dropped += spelling_lost(part)
    return EncodedMessage(
        media_type=f'{_multipart_type(message)}; boundary="{boundary.decode()}"',
        body=write_multipart(zip(heads, [part.data for part in parts], strict=True), boundary),
        dropped=tuple(dropped),
    )


def _multipart_type(message: OutgoingMessage) -> str:
    """Return multipart/related for parts that arrived related, unless the first would be read as a SOAP root; else mixed."""
    came = message.wrapper
    is_related = (
        came is not None and came.format in (Format.DIME, Format.SWA) and version_of(message.parts[0].data) is None
    )
    return "multipart/related" if is_related else "multipart/mixed"
