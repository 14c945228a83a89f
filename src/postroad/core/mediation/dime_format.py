"""DIME: a SOAP envelope as the first record if the message has one, and a record for every other part.

Types and ids stay the same, transfer encodings are removed, large parts are chunked. Further MIME headers of a part,
and its expiration, are stored in the options of its record, and read back from there.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.dime import MEDIA_TYPE, DimeRecord, TypeFormat, fits, read_dime, write_dime
from postroad.core.codecs.lexical import read_time, write_time
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.parts import OCTETS
from postroad.core.codecs.soap.recognition import VERSIONS, version_of
from postroad.core.mediation.conversion_losses import (
    expiry_lost,
    headers_lost,
    list_location_header,
    places_lost,
    spelling_lost,
)
from postroad.core.mediation.mime_entities import ATTACHMENT, DISPOSITION, EXPIRES, read_further_headers
from postroad.core.mediation.model import DecodedMessage, EncodedMessage, OutgoingMessage, Wire
from postroad.core.mediation.part_names import (
    LOCATION,
    has_own_id,
    id_and_location,
    name_of_place,
    read_line,
    to_one_line,
    uri_of,
)
from postroad.core.mediation.soap_format import action_of
from postroad.core.mediation.soap_root import (
    DecodedRoot,
    RootEnvelope,
    decode_root,
    find_own_envelope,
    is_envelope,
    root_lost,
)
from postroad.core.mediation.wrapper import Slot, Wrapper, cut_wire, mark_of
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

URI_TYPE = "X-Dime-Type"  # the original type of a record, if it was a URI
OF_A_URI = "text/xml"  # the media type that replaces a URI type
PLACE = "DIME"


def decode_wire(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> DecodedMessage:
    message = read_dime(wire.body, limits)
    records = [record for record in message.records if record.type_format is not TypeFormat.NONE or record.id]
    is_rooted = bool(records) and _is_root(records[0])
    ids = {id_and_location(record.id)[0] for record in records}
    root = _root(records[0], ids, limits) if is_rooted else DecodedRoot(())
    others = records[1:] if is_rooted else records
    first = len(root.documents)
    ids.update([part.id for part in root.documents])
    parts = (*root.documents, *[_part(record, n, ids, limits) for n, record in enumerate(others, first + 1)])
    wrapper = Wrapper(
        Format.DIME,
        MEDIA_TYPE,
        wire=cut_wire(wire.body, chain(root.stretches(), _stretches(others, parts, first))) if root.is_as_came else (),
        mark=mark_of(parts),
        envelope=root.pieces,
        action=action_of(wire),
        chunked=_chunked(records, len(parts) - len(records)),
    )
    return DecodedMessage(format=Format.DIME, parts=parts, wrapper=wrapper, header=root.header, notes=message.tolerated)


def _chunked(records: Sequence[DimeRecord], shift: int) -> tuple[int, ...]:
    """Return the parts that arrived in chunks; ``shift`` is their offset to the records, if the root held several."""
    return tuple([max(0, index) for index, record in enumerate(records, shift) if record.chunks])


def _is_root(record: DimeRecord) -> bool:
    """Return True if the record is an envelope; if its type declares one, errors are left to its reader."""
    data = bytes(record.data)
    return version_of(data) is not None if record.type in VERSIONS else is_envelope(data, but=())


def _root(record: DimeRecord, ids: Container[str], limits: WireLimits) -> DecodedRoot:
    said = replace(_part(record, 1, ids, limits), headers=_location(record, limits) + _carried(record, 1, limits))
    return decode_root(bytes(record.data), limits, said)


def _location(record: DimeRecord, limits: WireLimits) -> tuple[tuple[str, str], ...]:
    location = id_and_location(record.id)[1]
    return read_further_headers([(LOCATION, location)], limits) if location else ()


def _carried(record: DimeRecord, number: int, limits: WireLimits) -> tuple[tuple[str, str], ...]:
    """Return the MIME headers in a record's options, without those that its own fields contain."""
    said = {EXPIRES.lower()}
    if id_and_location(record.id)[1]:
        said.add(LOCATION.lower())
    if record.type_format is TypeFormat.URI:
        said.add(URI_TYPE.lower())
    headers = [(name, value.strip()) for name, value in record.headers if name.lower() not in said]
    return read_further_headers([one for one in headers if _agrees(*one, number)], limits)


def _agrees(name: str, value: str, number: int) -> bool:
    """Whether the header is carried: all are, except a disposition that contradicts or only repeats the position.

    In DIME the first record is the document and others are attachments.
    """
    if name.lower() != DISPOSITION.lower():
        return True
    return (media_type_of(value) == ATTACHMENT) == (number > 1) and value.lower() != ATTACHMENT


def _expiry(record: DimeRecord) -> int:
    told = next((value for name, value in record.headers if name.lower() == EXPIRES.lower()), "")
    return read_time(told, EXPIRES) if told else 0


def _part(record: DimeRecord, number: int, ids: Container[str], limits: WireLimits) -> Part:
    id, _ = id_and_location(record.id)
    uri = record.type if record.type_format is TypeFormat.URI else ""
    named = record.type if record.type_format is TypeFormat.MEDIA_TYPE else ""
    return Part(
        id=read_line(id or name_of_place(number, ids), "id", limits),
        content_type=read_line(OF_A_URI if uri else named or OCTETS, "type", limits),
        data=bytes(record.data),
        expires_at_us=_expiry(record),
        attachment=number > 1,
        headers=_location(record, limits)
        + (read_further_headers([(URI_TYPE, uri)], limits) if uri else ())
        + _carried(record, number, limits),
    )


def _stretches(records: Sequence[DimeRecord], parts: Sequence[Part], first: int) -> Iterator[tuple[Buffer, Slot]]:
    """Yield the payloads as they are on the wire, chunk by chunk."""
    for index, record in enumerate(records, first):
        data, at = memoryview(parts[index].data), 0
        for size in record.chunks or (len(data),):
            yield data[at : at + size], Slot(index, at, at + size)
            at += size


def encode_message(message: OutgoingMessage) -> EncodedMessage:
    headers = (("SOAPAction", message.action),) if message.action else ()
    wrapper = message.in_wrapper(Format.DIME)
    if wrapper is not None and wrapper.wire:
        return EncodedMessage(media_type=MEDIA_TYPE, body=wrapper.fill(message.parts), headers=headers)
    envelope = find_own_envelope(message)
    records = [_record(part, number) for number, part in enumerate(message.parts, 1)]
    if envelope is not None:
        records[0] = _root_record(envelope, message.parts[0])
    dropped = [*places_lost(message.parts, PLACE)]
    for number, part in enumerate(message.parts, 1):
        dropped += _lost(part, number, is_root=envelope is not None and number == 1)
    return EncodedMessage(media_type=MEDIA_TYPE, body=write_dime(records), headers=headers, dropped=tuple(dropped))


def _lost(part: Part, number: int, *, is_root: bool) -> Iterator[str]:
    more = _more(part, number, is_root=is_root)
    carried = [name.lower() for name, _ in more] if fits(more) else []
    if number > 1 and any(name.lower() == DISPOSITION.lower() and text == ATTACHMENT for name, text in part.headers):
        carried.append(DISPOSITION.lower())  # implied by the position of the record
    yield from headers_lost(part, PLACE, (*_elsewhere(part, is_root=is_root), *carried))
    if EXPIRES.lower() not in carried:
        yield from expiry_lost(part, PLACE)
    yield from spelling_lost(part)
    if is_root:
        yield from root_lost(part, PLACE)


def _elsewhere(part: Part, *, is_root: bool) -> tuple[str, ...]:
    """Return the names of headers that a record expresses without options."""
    return list_location_header(part) if is_root else list_location_header(part) + _typed(part)


def _more(part: Part, number: int, *, is_root: bool) -> tuple[tuple[str, str], ...]:
    """Return the headers for the options of a record."""
    elsewhere = _elsewhere(part, is_root=is_root)
    headers = [(name, value.strip()) for name, value in part.headers if name.lower() not in elsewhere]
    headers = [one for one in headers if _agrees(*one, number)]
    if part.expires_at_us:
        headers.append((EXPIRES, write_time(part.expires_at_us)))
    return tuple(headers)


def _root_record(envelope: RootEnvelope, first: Part) -> DimeRecord:
    id = uri_of(first) if has_own_id(first, 1) else ""
    more = _more(first, 1, is_root=True)
    return DimeRecord(
        type_format=TypeFormat.URI, type=envelope.version.namespace, id=id, data=envelope.data, headers=more
    )


def _record(part: Part, number: int) -> DimeRecord:
    id = uri_of(part) if has_own_id(part, number) else ""
    uri = _uri_type(part)
    kind = TypeFormat.URI if uri else TypeFormat.MEDIA_TYPE
    more = _more(part, number, is_root=False)
    return DimeRecord(type_format=kind, type=uri or to_one_line(part.content_type), id=id, data=part.data, headers=more)


def _uri_type(part: Part) -> str:
    """Return the URI that was the type of the part; empty if it has another type now."""
    if part.content_type != OF_A_URI:
        return ""
    return next((value for name, value in part.headers if name.lower() == URI_TYPE.lower()), "")


def _typed(part: Part) -> tuple[str, ...]:
    return (URI_TYPE.lower(),) if _uri_type(part) else ()
