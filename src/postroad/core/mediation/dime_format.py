"""DIME: a SOAP envelope as the first record where the message has one, and a record for every other part.

Types and ids stay as they are, transfer encodings are undone, large parts go in chunks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.codecs.dime import MEDIA_TYPE, Record, TypeFormat, read_dime, write_dime
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.parts import OCTETS
from postroad.core.mediation.entities import cid_of, has_own_id, id_of_uri, left_out, read_line
from postroad.core.mediation.nouns import Given, Outgoing, Taken, Wire
from postroad.core.mediation.rooted import is_envelope, own_envelope, take_root
from postroad.core.mediation.setting import Pieces, Setting, Slot, cut
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

URI_TYPE = "X-Dime-Type"  # what a record's type was, where that was a URI


def take(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> Taken:
    message = read_dime(wire.body, limits)
    records = [record for record in message.records if record.type_format is not TypeFormat.NONE or record.id]
    if not records:
        return Taken(format=Format.DIME, parts=(), notes=message.tolerated)
    first, *others = records
    if not is_envelope(bytes(first.data)):
        parts = tuple([_part(record, number, limits) for number, record in enumerate(records, 1)])
        pieces = cut(wire.body, _stretches(records, parts, 0))
        return Taken(format=Format.DIME, parts=parts, setting=_setting(pieces, parts, wire), notes=message.tolerated)
    root = take_root(bytes(first.data), limits, first.id)
    count = len(root.documents)
    attached = [_part(record, number, limits) for number, record in enumerate(others, count + 1)]
    parts = (*root.documents, *attached)
    pieces = cut(wire.body, _stretches(others, parts, count)) if root.is_as_came else ()
    setting = _setting(pieces, parts, wire, root.pieces)
    return Taken(format=Format.DIME, parts=parts, setting=setting, header=root.header, notes=message.tolerated)


def _setting(pieces: Pieces, parts: tuple[Part, ...], wire: Wire, envelope: Pieces = ()) -> Setting:
    return Setting(
        Format.DIME, MEDIA_TYPE, pieces, tuple([len(part.data) for part in parts]), envelope, wire.header("soapaction")
    )


def _part(record: Record, number: int, limits: WireLimits) -> Part:
    uri = record.type if record.type_format is TypeFormat.URI else ""
    kinds = {TypeFormat.MEDIA_TYPE: record.type, TypeFormat.URI: "text/xml"}
    return Part(
        id=read_line(id_of_uri(record.id) or str(number), "id", limits),
        content_type=read_line(kinds.get(record.type_format, "") or OCTETS, "type", limits),
        data=bytes(record.data),
        attachment=number > 1,
        headers=((URI_TYPE, read_line(uri, "type", limits)),) if uri else (),
    )


def _stretches(records: Iterable[Record], parts: tuple[Part, ...], first: int) -> Iterator[tuple[bytes, Slot]]:
    """The payloads as they stand in the wire, a chunked one chunk by chunk."""
    for index, record in enumerate(records, first):
        data, at = parts[index].data, 0
        for size in record.chunks or (len(data),):
            yield data[at : at + size], Slot(index, at, at + size)
            at += size


def give(message: Outgoing) -> Given:
    action = message.setting.action if message.setting is not None else ""
    headers = (("SOAPAction", action),) if action else ()
    setting = message.in_setting(Format.DIME)
    if setting is not None and setting.wire:
        return Given(media_type=MEDIA_TYPE, body=setting.filled(message.parts), headers=headers)
    envelope = own_envelope(message)
    rest = message.parts if envelope is None else message.parts[1:]
    records = [_record(part, number) for number, part in enumerate(rest, len(message.parts) - len(rest) + 1)]
    if envelope is not None:
        namespace = envelope.version.namespace
        id = cid_of(envelope.id) if envelope.id else ""
        records.insert(0, Record(type_format=TypeFormat.URI, type=namespace, id=id, data=envelope.data))
    if not records:
        records = [Record(type_format=TypeFormat.NONE, type="", id="", data=b"")]
    dropped = left_out([_without_uri(part) for part in rest], "DIME")
    dropped += [
        f"part {part.id}: that it is a document, not an attachment, has no place in DIME"
        for part in message.parts[1:]
        if not part.attachment
    ]
    return Given(media_type=MEDIA_TYPE, body=write_dime(records), headers=headers, dropped=tuple(dropped))


def _record(part: Part, number: int) -> Record:
    id = cid_of(part.id) if has_own_id(part, number) else ""
    uri = dict(part.headers).get(URI_TYPE, "")
    kind = TypeFormat.URI if uri else TypeFormat.MEDIA_TYPE
    return Record(type_format=kind, type=uri or part.content_type, id=id, data=part.data)


def _without_uri(part: Part) -> Part:
    headers = tuple([pair for pair in part.headers if pair[0] != URI_TYPE])
    return Part(id=part.id, content_type=part.content_type, data=b"", expires_at_us=part.expires_at_us, headers=headers)
