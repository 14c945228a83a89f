"""Writes DER, the one canonical form of BER.

Rule: content is never copied until the whole message is joined. Small structures are bytes at once; a structure
around content is a list of pieces that gets a header in front.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from postroad.core.codecs.buffers import Buffer

INTEGER, OCTET_STRING, NULL, OID, UTC_TIME, GENERALIZED_TIME, SEQUENCE, SET = (
    0x02,
    0x04,
    0x05,
    0x06,
    0x17,
    0x18,
    0x30,
    0x31,
)
CONSTRUCTED = 0x20


def context_tag(place: int, *, constructed: bool = True) -> int:
    """The context-specific tag ``[place]``."""
    return 0x80 | (CONSTRUCTED if constructed else 0) | place


def header(tag: int, length: int) -> bytes:
    if length < 0x80:
        return bytes((tag, length))
    octets = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(octets))) + octets


def element(tag: int, *parts: bytes) -> bytes:
    content = parts[0] if len(parts) == 1 else b"".join(parts)
    return header(tag, len(content)) + content


def sequence(*parts: bytes) -> bytes:
    return element(SEQUENCE, *parts)


def set_of(parts: Iterable[bytes], tag: int = SET) -> bytes:
    """A SET OF, with its members sorted by their bytes as DER requires."""
    return element(tag, *sorted(parts))


def enclose_pieces(tag: int, pieces: Sequence[Buffer]) -> list[Buffer]:
    """Return an element around pieces of content, as pieces."""
    return [header(tag, sum(map(len, pieces))), *pieces]


def small_integer(value: int) -> bytes:
    return element(INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def object_identifier(dotted: str) -> bytes:
    first, second, *rest = (int(arc) for arc in dotted.split("."))
    return element(OID, bytes((first * 40 + second,)), *map(_base_128, rest))


def _base_128(arc: int) -> bytes:
    octets = [arc & 0x7F]
    while arc := arc >> 7:
        octets.append(0x80 | arc & 0x7F)
    return bytes(reversed(octets))


def encode_time(at: datetime) -> bytes:
    """Encodes a time for CMS: two-digit years until 2049, then four digits."""
    at = at.astimezone(UTC)
    if 1950 <= at.year < 2050:
        return element(UTC_TIME, at.strftime("%y%m%d%H%M%SZ").encode())
    return element(GENERALIZED_TIME, f"{at.year:04}{at:%m%d%H%M%S}Z".encode())
