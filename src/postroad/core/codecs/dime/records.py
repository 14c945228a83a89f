"""DIME record types and their layout; all integers are big-endian, and no length counts the padding.

    byte 0   version (5 bits, always 1), MB first record, ME last record, CF more chunks follow
    byte 1   type format (4 bits), reserved (4 bits, always 0)
    2-11     lengths of OPTIONS, ID and TYPE (16 bits each) and DATA (32 bits)
    12-      OPTIONS, ID, TYPE, DATA, each padded with zeros to a multiple of 4

A chunked payload is a sequence of records: the first has type and id, the others have the type "unchanged" and no id.
"""

from __future__ import annotations

from enum import IntEnum
from struct import Struct as Layout
from typing import Final

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer

MEDIA_TYPE: Final = "application/dime"
VERSION: Final = 1
FIRST, LAST, MORE = 4, 2, 1  # the flags MB, ME and CF
HEADER: Final = Layout(">BBHHHI")
HEADER_BYTES: Final = HEADER.size
LONGEST_NAME: Final = 0xFFFF  # of an id or a type, in bytes


class TypeFormat(IntEnum):
    """The format of a record's type."""

    UNCHANGED = 0  # a chunk that continues the record before it; never the type of a payload
    MEDIA_TYPE = 1
    URI = 2
    UNKNOWN = 3
    NONE = 4  # there is neither a type nor data


class DimeRecord(Struct, gc=False, frozen=True, kw_only=True):
    """One payload, its chunks joined."""

    type_format: TypeFormat
    type: str
    id: str
    data: Buffer
    chunks: tuple[int, ...] = ()  # sizes of the received chunks; empty if not chunked
    options: bytes = b""  # as received; options of other programs have no known meaning, and are never written
    headers: tuple[tuple[str, str], ...] = ()  # further MIME headers of the payload, from its options


class DimeMessage(Struct, gc=False, frozen=True, kw_only=True):
    records: tuple[DimeRecord, ...]
    tolerated: tuple[str, ...] = ()  # deviations that the reader tolerated


def padded_length(length: int) -> int:
    """Return the length including padding."""
    return (length + 3) & ~3
