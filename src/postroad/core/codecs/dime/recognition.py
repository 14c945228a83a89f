"""Recognises a DIME message by its structure, since the format has no magic number."""

from __future__ import annotations

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.dime.records import (
    FIRST,
    HEADER,
    HEADER_BYTES,
    LAST,
    MORE,
    VERSION,
    TypeFormat,
    padded_length,
)

_SIGNS: dict[int, bytes] = {TypeFormat.MEDIA_TYPE: b"/", TypeFormat.URI: b":"}  # what a type of that format has in it


def looks_like_dime(buffer: Buffer) -> bool:
    """Whether a DIME message begins here, and either ends here too or goes on with another record. Never raises."""
    if len(buffer) < HEADER_BYTES:
        return False
    flags, kind, options, id_, type_, data = HEADER.unpack_from(buffer)
    if flags >> 3 != VERSION or not flags & FIRST or flags & 3 == LAST | MORE or kind & 15:
        return False
    type_at = HEADER_BYTES + padded_length(options) + padded_length(id_)
    if not _is_type(kind >> 4, bytes(buffer[type_at : type_at + type_]), type_, data):
        return False
    end = type_at + padded_length(type_) + padded_length(data)
    return _ends_at(end, buffer) if flags & LAST else _goes_on_at(end, buffer)


def _is_type(type_format: int, found: bytes, length: int, data: int) -> bool:
    if len(found) < length:
        return False
    if type_format == TypeFormat.NONE:
        return not length and not data
    sign = _SIGNS.get(type_format)
    return type_format == TypeFormat.UNKNOWN or (sign is not None and sign in found)


def _ends_at(end: int, buffer: Buffer) -> bool:
    return 0 <= end - len(buffer) <= 3  # the last padding may be missing


def _goes_on_at(end: int, buffer: Buffer) -> bool:
    return end + HEADER_BYTES <= len(buffer) and buffer[end] >> 3 == VERSION and not buffer[end] & FIRST
