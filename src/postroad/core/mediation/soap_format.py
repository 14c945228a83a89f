"""Somebody's own SOAP envelope, with what it carries inside it: no attachments."""

from __future__ import annotations

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of, parameter_of
from postroad.core.codecs.soap import SOAP11, SOAP12
from postroad.core.mediation.entities import has_own_id, left_out
from postroad.core.mediation.nouns import Given, Outgoing, Taken, Wire
from postroad.core.mediation.rooted import Envelope, holding_together, made_envelope, own_envelope, take_root
from postroad.core.mediation.setting import Setting, Slot, cut
from postroad.core.model.formats import Format
from postroad.core.model.message import Part


def take(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> Taken:
    root = take_root(wire.body, limits)
    parts = root.documents
    envelope = wire.body if root.is_as_came else root.envelope
    setting = None
    if root.envelope:
        sizes = tuple([len(part.data) for part in parts])
        pieces = cut(envelope, [(parts[0].data, Slot(0))])
        setting = Setting(Format.SOAP, wire.content_type, pieces, sizes, root.pieces, action_of(wire))
    return Taken(format=Format.SOAP, parts=parts, setting=setting, header=root.header)


def action_of(wire: Wire) -> str:
    """What the poster said it wants done: a header of its own in SOAP 1.1, a parameter in 1.2."""
    return wire.header("soapaction") or parameter_of(wire.content_type, "action")


def give(message: Outgoing) -> Given:
    action = message.setting.action if message.setting is not None else ""
    setting = message.in_setting(Format.SOAP)
    if setting is not None:
        body = b"".join(setting.filled(message.parts))
        media_type = setting.media_type if _is_xml(setting.media_type) else _media_type(body, action)
        return Given(media_type=media_type, body=[body], headers=action_headers(body, action))
    envelope = _around_single(message)
    if envelope is None:
        body = holding_together(message.parts)
        return Given(media_type=_media_type(body, action), body=[body], headers=action_headers(body, action))
    dropped = tuple(_left_out(message.parts[0], envelope))
    headers = action_headers(envelope.data, action)
    return Given(media_type=_media_type(envelope.data, action), body=[envelope.data], headers=headers, dropped=dropped)


def _around_single(message: Outgoing) -> Envelope | None:
    if len(message.parts) != 1:
        return None
    return own_envelope(message) or made_envelope(message)


def _left_out(part: Part, envelope: Envelope) -> list[str]:
    dropped = left_out([part], "SOAP")
    if has_own_id(part, 1):
        dropped.append(f"part {part.id}: its id has no place in SOAP")
    return dropped


def _is_xml(media_type: str) -> bool:
    return media_type_of(media_type) in ("text/xml", "application/soap+xml")


def _media_type(envelope: bytes, action: str) -> str:
    if SOAP12.namespace.encode() not in envelope[:2_048]:
        return SOAP11.media_type
    return f'{SOAP12.media_type}; action="{action.strip(chr(34))}"' if action else SOAP12.media_type


def action_headers(envelope: bytes, action: str) -> tuple[tuple[str, str], ...]:
    """SOAP 1.1 wants the header in any case, also when it says nothing."""
    if SOAP12.namespace.encode() in envelope[:2_048]:
        return ()
    return (("SOAPAction", action or '""'),)
