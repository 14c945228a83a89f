"""SOAP with attachments: multipart/related whose root is the envelope; MTOM is read as the same, its includes left where they are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import Entity, fresh_boundary, read_related, write_head, write_multipart
from postroad.core.codecs.parts import in_order
from postroad.core.codecs.soap import SOAP11
from postroad.core.mediation.entities import head_of, id_in, left_out, part_of
from postroad.core.mediation.nouns import Given, Outgoing, Taken, Wire
from postroad.core.mediation.rooted import Envelope, holding_together, made_envelope, own_envelope, take_root
from postroad.core.mediation.setting import Pieces, Setting, Slot, cut, stretches
from postroad.core.mediation.soap_format import action_headers, action_of
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

ROOT_ID = "root@postroad"  # where the document has no id of its own


def take(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> Taken:
    related = read_related(wire.content_type, wire.body, limits)
    root = take_root(bytes(related.root.data()), limits, id_in(related.root.header("Content-ID")))
    documents = [_renamed(part, "1") if part.id == ROOT_ID else part for part in root.documents]
    first = len(documents) + 1
    kind = None if root.holds_together else True
    others = [part_of(entity, number, limits, attachment=kind) for number, entity in enumerate(related.others, first)]
    parts = in_order([*documents, *others])
    pieces: Pieces = ()
    if root.is_as_came:
        pieces = cut(wire.body, _stretches(parts, documents, others, related.others))
    sizes = tuple([len(part.data) for part in parts])
    setting = Setting(Format.SWA, wire.content_type, pieces, sizes, root.pieces, action_of(wire))
    return Taken(format=Format.SWA, parts=parts, setting=setting, header=root.header, notes=related.multipart.tolerated)


def _renamed(part: Part, id: str) -> Part:
    return Part(id=id, content_type=part.content_type, data=part.data, expires_at_us=part.expires_at_us,
                attachment=part.attachment, headers=part.headers)  # fmt: skip


def _stretches(
    parts: tuple[Part, ...], documents: Sequence[Part], others: Sequence[Part], entities: Sequence[Entity]
) -> Iterator[tuple[bytes, Slot]]:
    if parts != (*documents, *others):
        return
    encodings = [""] * len(documents) + [entity.transfer_encoding for entity in entities]
    yield from stretches(parts, encodings)


def give(message: Outgoing) -> Given:
    setting = message.in_setting(Format.SWA)
    if setting is not None and setting.wire:
        headers = (("SOAPAction", setting.action),) if setting.action else ()
        return Given(media_type=setting.media_type, body=setting.filled(message.parts), headers=headers)
    envelope = own_envelope(message) or made_envelope(message)
    if envelope is None:
        return _written(Envelope(SOAP11, holding_together(), ""), message, message.parts)
    dropped = tuple(left_out(message.parts[:1], "the root of SOAP with attachments"))
    return _written(envelope, message, message.parts[1:], dropped)


def _written(envelope: Envelope, message: Outgoing, others: Sequence[Part], dropped: tuple[str, ...] = ()) -> Given:
    """The envelope as the root, and these parts beside it."""
    action = message.setting.action if message.setting is not None else ""
    root_id = envelope.id or ROOT_ID
    head = write_head([("Content-Type", envelope.version.media_type), ("Content-ID", f"<{root_id}>")])
    boundary = fresh_boundary([envelope.data, *[part.data for part in others]], message.seed)
    first = len(message.parts) - len(others) + 1
    measured = _measured(message)
    heads = [head_of(part, number, measured=number in measured) for number, part in enumerate(others, first)]
    bodies = [(head, envelope.data), *zip(heads, [part.data for part in others], strict=True)]
    kind = media_type_of(envelope.version.media_type)
    return Given(
        media_type=f'multipart/related; type="{kind}"; start="<{root_id}>"; boundary="{boundary.decode()}"',
        body=write_multipart(bodies, boundary),
        headers=action_headers(envelope.data, action),
        dropped=dropped,
    )


def _measured(message: Outgoing) -> frozenset[int]:
    """The parts, by number, whose length is told: records of DIME that came whole."""
    setting = message.in_setting(Format.DIME)
    if setting is None:
        return frozenset()
    in_chunks = {
        piece.part
        for piece in setting.wire
        if isinstance(piece, Slot) and piece.end - piece.begin != setting.sizes[piece.part]
    }
    return frozenset(number for number in range(1, len(setting.sizes) + 1) if number - 1 not in in_chunks)
