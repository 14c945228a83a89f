"""Recognizes kinds of JSON: CloudEvent, batch of CloudEvents, JSON lines, or other JSON."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from postroad.core.codecs.buffers import Buffer
from postroad.core.documents.kinds import BusinessDocumentKind

_LOOK = 4096  # bytes in which the first event of a batch shows what it is


class _Signs(Struct, gc=False):
    """The attributes that every CloudEvent has."""

    specversion: Raw | UnsetType = UNSET
    id: Raw | UnsetType = UNSET
    source: Raw | UnsetType = UNSET
    type: Raw | UnsetType = UNSET

    def are_of_an_event(self) -> bool:
        return UNSET not in (self.specversion, self.id, self.source, self.type)


_OBJECT = msgspec.json.Decoder(_Signs)
_OBJECTS = msgspec.json.Decoder(list[_Signs])
_ANY = msgspec.json.Decoder(Raw)


def json_kind(data: Buffer) -> BusinessDocumentKind:
    """The kind of bytes that begin like a JSON object or array."""
    try:
        return _kind_of_whole(data)
    except msgspec.DecodeError:
        return BusinessDocumentKind.JSON_LINES if _are_lines(bytes(data)) else BusinessDocumentKind.UNKNOWN
    except RecursionError:
        return BusinessDocumentKind.UNKNOWN  # no one will read what is that deep


def _kind_of_whole(data: Buffer) -> BusinessDocumentKind:
    try:
        return BusinessDocumentKind.CLOUDEVENTS if _OBJECT.decode(data).are_of_an_event() else BusinessDocumentKind.JSON
    except msgspec.ValidationError:
        pass  # an array
    if b'"specversion"' in bytes(data[:_LOOK]) and _are_events(data):
        return BusinessDocumentKind.CLOUDEVENTS_BATCH
    _ANY.decode(data)
    return BusinessDocumentKind.JSON


def _are_events(data: Buffer) -> bool:
    try:
        return all(signs.are_of_an_event() for signs in _OBJECTS.decode(data))
    except msgspec.ValidationError:
        return False


def _are_lines(data: bytes) -> bool:
    """Whether the first two lines are documents of their own."""
    lines = data.lstrip().split(b"\n", 2)[:2]
    try:
        return len(lines) > 1 and all(_ANY.decode(line) for line in lines)
    except (msgspec.DecodeError, RecursionError):
        return False
