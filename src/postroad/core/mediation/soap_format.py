"""Somebody's own SOAP envelope, with what it carries inside it: no attachments."""

from __future__ import annotations

from urllib.parse import quote

from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import parameter, read_parameters
from postroad.core.codecs.soap import SOAP11, SOAP12, SoapCodec
from postroad.core.codecs.soap.recognition import self_describing
from postroad.core.mediation.losses import expiry_lost, headers_lost, id_lost
from postroad.core.mediation.nouns import Given, Outgoing, Taken, Wire
from postroad.core.mediation.rooted import (
    Envelope,
    envelope_in,
    holding_together,
    made_envelope,
    own_envelope,
    root_lost,
    take_root,
)
from postroad.core.mediation.setting import Setting, cut, mark_of
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

TYPES = ("text/xml", "application/soap+xml")
# Parameters that hold the type of an envelope, with an action of its own.
_DESCRIBED_IN = ("type", "start-info", "startinfo")
_VISIBLE = "".join(map(chr, range(0x20, 0x7F)))


def take(wire: Wire, limits: WireLimits = DEFAULT_LIMITS) -> Taken:
    root = take_root(self_describing(wire.body, wire.content_type), limits)
    documents = root.documents
    pieces = cut(wire.body, root.stretches()) if root.is_as_came else root.pieces
    setting = Setting(Format.SOAP, wire.content_type, pieces, mark_of(documents), root.pieces, action_of(wire))
    return Taken(format=Format.SOAP, parts=documents, setting=setting, header=root.header)


def action_of(wire: Wire, root_type: str = "") -> str:
    """What the poster said it wants done: a header of its own in SOAP 1.1, a parameter in 1.2, perhaps of the root's type."""
    said = wire.header("soapaction") or _action_in(wire.content_type) or _action_in(root_type)
    return said if said.isascii() and said.isprintable() else quote(said, safe=_VISIBLE)


def _action_in(content_type: str) -> str:
    parameters = read_parameters(content_type)
    described = [parameter(parameters, name) for name in _DESCRIBED_IN]
    return parameter(parameters, "action") or next(filter(None, map(_own_action, described)), "")


def _own_action(content_type: str) -> str:
    return parameter(read_parameters(content_type), "action")


def give(message: Outgoing) -> Given:
    setting = message.in_setting(Format.SOAP)
    if setting is not None and setting.wire:
        declared = setting.media_type if media_type_of(setting.media_type) in TYPES else ""
        return _given(envelope_in(b"".join(setting.filled(message.parts))), message.action, declared)
    envelope = _around_single(message)
    if envelope is None:
        return _given(Envelope(SOAP11, holding_together(message.parts)), message.action)
    return _given(envelope, message.action, dropped=_lost(message.parts[0]))


def _around_single(message: Outgoing) -> Envelope | None:
    return own_envelope(message) or made_envelope(message) if len(message.parts) == 1 else None


def _given(envelope: Envelope, action: str, declared: str = "", dropped: tuple[str, ...] = ()) -> Given:
    return Given(
        media_type=declared or type_of(envelope, action),
        body=[envelope.data],
        headers=action_headers(envelope.version, action),
        dropped=dropped,
    )


def action_headers(version: SoapCodec, action: str) -> tuple[tuple[str, str], ...]:
    """SOAP 1.1 wants the header in any case, also when it says nothing."""
    return () if version is SOAP12 else (("SOAPAction", action or '""'),)


def action_parameter(version: SoapCodec, action: str) -> str:
    return f"; action={quoted(action.strip(chr(34)))}" if version is SOAP12 and action else ""


def type_of(envelope: Envelope, action: str) -> str:
    """The content type of an envelope, with the action where its version says it there."""
    return envelope.media_type + action_parameter(envelope.version, action)


def quoted(text: str) -> str:
    """As the value of a parameter."""
    return '"{}"'.format(text.replace("\\", r"\\").replace('"', r"\""))


def _lost(part: Part) -> tuple[str, ...]:
    place = "SOAP"
    return (*id_lost(part, place), *root_lost(part, place), *headers_lost(part, place), *expiry_lost(part, place))
