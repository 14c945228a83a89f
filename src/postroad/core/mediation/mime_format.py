"""Plain MIME: one document as it is, or several in a multipart.

What AS2 carries is the same: an entity with a header block of its own.
"""

from __future__ import annotations

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import Entity, fresh_boundary, read_entity, read_multipart, write_multipart
from postroad.core.codecs.parts import OCTETS, in_order
from postroad.core.mediation.entities import fields_of, head_of, part_of, read_line, said_in
from postroad.core.mediation.nouns import Given, Outgoing, Taken, Wire
from postroad.core.mediation.setting import Setting, Slot, cut, stretches
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

MESSAGE = "message/rfc822"
KEPT = ("content-disposition", "content-description", "content-language", "content-location", "content-id")
USUAL_MULTIPARTS = ("multipart/mixed", "multipart/related")


def take(wire: Wire, limits: WireLimits = DEFAULT_LIMITS, format: Format = Format.MIME) -> Taken:
    """The parts of an entity; its header block is the transport's, or its own where it brought one along."""
    kind = media_type_of(wire.content_type)
    if kind == MESSAGE:
        return take_entity(read_entity(wire.body, limits), limits, format)
    if kind.startswith("multipart/"):
        return _several(wire.body, wire.content_type, format, limits)
    return _single(wire, format, limits)


def take_entity(entity: Entity, limits: WireLimits = DEFAULT_LIMITS, format: Format = Format.MIME) -> Taken:
    """The parts of an entity that has a header block of its own."""
    content_type = entity.content_type or OCTETS
    if media_type_of(content_type).startswith("multipart/"):
        taken = _several(bytes(entity.body), content_type, format, limits)
        setting = taken.setting
    else:
        part = part_of(entity, 1, limits, attachment=False)
        setting = Setting(format, content_type, (Slot(0),), (len(part.data),))
        taken = Taken(format=format, parts=(part,))
    if setting is None or entity.transfer_encoding not in ("", "7bit", "8bit", "binary"):
        return taken
    return _with_setting(taken, _with_head(setting, entity.head))


def _with_setting(taken: Taken, setting: Setting) -> Taken:
    return Taken(format=taken.format, parts=taken.parts, setting=setting, header=taken.header, notes=taken.notes)


def _with_head(setting: Setting, head: bytes) -> Setting:
    return Setting(setting.format, setting.media_type, setting.wire, setting.sizes, head=head)


def _single(wire: Wire, format: Format, limits: WireLimits) -> Taken:
    if not wire.body and not wire.content_type:
        return Taken(format=format, parts=())
    said = [(name.title(), value) for name, value in wire.headers if name in KEPT]
    content_id = wire.header("content-id").strip().strip("<>")
    part = Part(
        id=read_line(content_id or "1", "id", limits),
        content_type=read_line(wire.content_type or OCTETS, "type", limits),
        data=wire.body,
        headers=said_in(said, limits),
    )
    return Taken(format=format, parts=(part,))


def _several(body: bytes, content_type: str, format: Format, limits: WireLimits) -> Taken:
    multipart = read_multipart(content_type, body, limits)
    found = [part_of(entity, number, limits) for number, entity in enumerate(multipart.parts, 1)]
    parts = in_order(found)
    encodings = [entity.transfer_encoding for entity in multipart.parts] if parts == tuple(found) else []
    pieces = cut(body, stretches(parts, encodings))
    setting = Setting(format, content_type, pieces, tuple([len(part.data) for part in parts]))
    return Taken(format=format, parts=parts, setting=setting, notes=multipart.tolerated)


def give(message: Outgoing, format: Format = Format.MIME) -> Given:
    setting = message.in_setting(Format.MIME, Format.AS2)
    if setting is not None:
        return Given(media_type=setting.media_type, body=setting.filled(message.parts), head=setting.head)
    dropped = _subtype_lost(message.setting)
    if not message.parts:
        return Given(media_type="", body=[b""], dropped=dropped)
    if len(message.parts) == 1:
        part = message.parts[0]
        fields = tuple(fields_of(part, 1, with_type=False))
        return Given(media_type=part.content_type, body=[part.data], headers=fields, dropped=dropped)
    boundary = fresh_boundary([part.data for part in message.parts], message.seed)
    written = write_multipart([(head_of(part, n), part.data) for n, part in enumerate(message.parts, 1)], boundary)
    return Given(media_type=f'multipart/mixed; boundary="{boundary.decode()}"', body=written, dropped=dropped)


def _subtype_lost(setting: Setting | None) -> tuple[str, ...]:
    """A multipart of a special kind is told apart from others only by whoever gets it as it came."""
    kind = media_type_of(setting.media_type) if setting is not None else ""
    if not kind.startswith("multipart/") or kind in USUAL_MULTIPARTS:
        return ()
    return (f"that the parts came as {kind}",)
