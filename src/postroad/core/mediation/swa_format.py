"""Reads and writes SOAP with attachments: multipart/related whose root is the envelope. MTOM includes stay unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from msgspec.structs import replace

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import Related, make_boundary, read_related, write_multipart
from postroad.core.codecs.mime.related import XOP
from postroad.core.codecs.soap import SOAP11
from postroad.core.codecs.soap.recognition import declare_encoding
from postroad.core.mediation.conversion_losses import disposition_lost, places_lost, spelling_lost
from postroad.core.mediation.mime_entities import head_of, in_order, length_of, list_ids, numbers_of, part_of, parts_of
from postroad.core.mediation.model import DecodedMessage, EncodedMessage, OutgoingMessage, Wire
from postroad.core.mediation.part_names import has_own_id, is_located, name_of_place
from postroad.core.mediation.soap_format import action_headers, action_of, action_parameter, quote_parameter, type_of
from postroad.core.mediation.soap_root import (
    DecodedRoot,
    RootEnvelope,
    decode_root,
    find_own_envelope,
    make_envelope,
    root_lost,
    wrap_parts,
)
from postroad.core.mediation.wrapper import Pieces, Wrapper, cut_wire, mark_of, stretches
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

ROOT_ID = "root@postroad"  # Content-ID of the root if the document has no id
INCLUDES = b"http://www.w3.org/2004/08/xop/include"
PLACE = "SOAP with attachments"
_STARTING = re.compile(r"[!#-\[\]-~]+")  # ids that are allowed in a parameter


def decode_wire(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> DecodedMessage:
    related = read_related(wire.content_type, wire.body, limits)
    root = _root(related, limits)
    first, said = len(root.documents) + 1, [part.id for part in root.documents]
    others = parts_of(related.others, first, limits, attached=not root.holds_together, said=said)
    parts = (*root.documents, *others)
    pieces = _pieces(wire.body, parts, root, related) if root.is_as_came else ()
    action = action_of(wire, related.root.content_type)
    wrapper = Wrapper(Format.SWA, wire.content_type, pieces, mark_of(parts), root.pieces, action)
    return DecodedMessage(
        format=Format.SWA, parts=parts, wrapper=wrapper, header=root.header, notes=related.multipart.tolerated
    )


def _root(related: Related, limits: WireLimits) -> DecodedRoot:
    """Decode the envelope with the headers of its entity; a generated ID is omitted."""
    entity, place = related.root, name_of_place(1, list_ids(related.others))
    said = part_of(entity.headers(), b"", place, limits)
    envelope = declare_encoding(bytes(entity.data(limits)), entity.content_type)
    return decode_root(envelope, limits, replace(said, id=place) if said.id == ROOT_ID else said)


def _pieces(body: bytes, parts: Sequence[Part], root: DecodedRoot, related: Related) -> Pieces:
    entities = in_order(related.others) if root.holds_together else related.others
    first = len(root.documents)
    beside = stretches(parts[first:], [entity.transfer_encoding for entity in entities], first)
    return cut_wire(body, chain(root.stretches(), beside))


def encode_message(message: OutgoingMessage) -> EncodedMessage:
    wrapper = message.in_wrapper(Format.SWA)
    if wrapper is not None and wrapper.wire:
        headers = (("SOAPAction", wrapper.action),) if wrapper.action else ()
        return EncodedMessage(media_type=wrapper.media_type, body=wrapper.fill(message.parts), headers=headers)
    envelope = find_own_envelope(message)
    if (
        envelope is None and message.in_wrapper(Format.DIME) is None
    ):  # every DIME record becomes a part, even if it is an envelope
        envelope = make_envelope(message)
    if envelope is None:
        envelope = RootEnvelope(SOAP11, wrap_parts())
        return _written(_beside(envelope), envelope, message, 0, disposition_lost(message.parts, PLACE))
    first = message.parts[0]
    dropped = (*root_lost(first, PLACE), *places_lost(message.parts, PLACE))
    return _written(_rooted(first, envelope, message.action), envelope, message, 1, dropped)


def _beside(envelope: RootEnvelope) -> Part:
    """Return the root part for an envelope without a document; all documents are further parts."""
    return Part(id=ROOT_ID, content_type=envelope.media_type, data=envelope.data)


def _rooted(first: Part, envelope: RootEnvelope, action: str) -> Part:
    """Return the first part as root, with the envelope as its data."""
    kind = type_of(envelope, action)
    if INCLUDES in envelope.data:
        kind = f"{XOP}; charset=utf-8; type={quote_parameter(_described(envelope, action))}"
    return replace(first, id=first.id if has_own_id(first, 1) else ROOT_ID, content_type=kind, data=envelope.data)


def _written(
    root: Part, envelope: RootEnvelope, message: OutgoingMessage, rooted: int, dropped: Iterable[str]
) -> EncodedMessage:
    """Encode the root and all parts except the first ones, which it contains."""
    others = message.parts[rooted:]
    came = message.in_wrapper(Format.DIME)
    heads = [head_of(root, None, length_of(root, 0, came) if rooted else ())]
    numbers = range(2, len(others) + 2) if rooted else numbers_of(others)
    heads += [
        head_of(part, number, length_of(part, index, came), flagged=not rooted)
        for index, (number, part) in enumerate(zip(numbers, others, strict=True), rooted)
    ]
    bodies = [root.data, *[part.data for part in others]]
    boundary = make_boundary(bodies, message.seed)
    return EncodedMessage(
        media_type=_media_type(root, envelope, message.action, boundary.decode()),
        body=write_multipart(zip(heads, bodies, strict=True), boundary),
        headers=action_headers(envelope.version, message.action),
        dropped=(*dropped, *[sentence for part in message.parts for sentence in spelling_lost(part)]),
    )


def _described(envelope: RootEnvelope, action: str) -> str:
    """Return the value of the parameter in which XOP names the type of the envelope."""
    return media_type_of(envelope.media_type) + action_parameter(envelope.version, action)


def _media_type(root: Part, envelope: RootEnvelope, action: str, boundary: str) -> str:
    """Return the media type; without ``start`` the root is the first part, so it is set only if the ID fits there."""
    kind = media_type_of(root.content_type)
    info = f"; start-info={quote_parameter(_described(envelope, action))}" if kind == XOP else ""
    start = f'; start="<{root.id}>"' if _STARTING.fullmatch(root.id) and not is_located(root) else ""
    return f'multipart/related; type="{kind}"{start}{info}; boundary="{boundary}"'
