"""Writes DIME: options only for MIME headers, zero padding, and large payloads in chunks.

Rule: the result is a list of pieces that contain the caller's own buffers or views of them, so that sending copies
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.dime.options import write_headers
from postroad.core.codecs.dime.records import (
    FIRST,
    HEADER,
    LAST,
    LONGEST_NAME,
    MORE,
    VERSION,
    DimeRecord,
    TypeFormat,
    padded_length,
)
from postroad.errors import Refused

CHUNK_BYTES = 1 << 20
_PADDING = (b"", b"\0\0\0", b"\0\0", b"\0")
_TYPED = (TypeFormat.MEDIA_TYPE, TypeFormat.URI)
_NOTHING = DimeRecord(type_format=TypeFormat.NONE, type="", id="", data=b"")


def write_dime(records: Iterable[DimeRecord], chunk_bytes: int = CHUNK_BYTES) -> list[Buffer]:
    """Return the message in pieces; payloads larger than ``chunk_bytes`` (rounded up to a multiple of 4) are chunked.

    A message has at least one record: an empty message is one record with the type format "none".
    """
    if chunk_bytes < 1:
        raise ValueError("a chunk has at least one byte")
    every = tuple(records) or (_NOTHING,)
    pieces: list[Buffer] = []
    last = len(every) - 1
    most = padded_length(chunk_bytes)
    for number, record in enumerate(every):
        place = (FIRST if number == 0 else 0) | (LAST if number == last else 0)
        _write_record(pieces, record, place, most)
    return pieces


def _write_record(pieces: list[Buffer], record: DimeRecord, place: int, chunk_bytes: int) -> None:
    size = len(record.data)
    type_format, type_ = _type_of(record)
    id_ = _name(record.id, "id")
    options = write_headers(record.headers) if record.headers else b""  # a multiple of 4
    names = options + id_ + _PADDING[len(id_) & 3] + type_ + _PADDING[len(type_) & 3]
    if size <= chunk_bytes:
        head = HEADER.pack(VERSION << 3 | place, type_format << 4, len(options), len(id_), len(type_), size)
        pieces += (head + names, record.data, _PADDING[size & 3])
        return
    lengths = (len(options), len(id_), len(type_))
    for flags, chunk in _chunks(record.data, place, chunk_bytes):
        head = HEADER.pack(VERSION << 3 | flags, type_format << 4, *lengths, len(chunk))
        pieces += [head + names, chunk, _PADDING[len(chunk) & 3]]
        type_format, lengths, names = TypeFormat.UNCHANGED, (0, 0, 0), b""


def _chunks(data: Buffer, place: int, chunk_bytes: int) -> Iterator[tuple[int, memoryview]]:
    """Yield each chunk with its flags: the first one may begin the message, only the last one may end it."""
    view, size = memoryview(data), len(data)
    for begin in range(0, size, chunk_bytes):
        end = begin + chunk_bytes
        flags = (place & FIRST if begin == 0 else 0) | (MORE if end < size else place & LAST)
        yield flags, view[begin:end]


def _type_of(record: DimeRecord) -> tuple[TypeFormat, bytes]:
    """Return the type for a record: only media types and URIs are written; a missing type is unknown."""
    type_format = record.type_format
    if type_format in _TYPED:
        return (type_format, _name(record.type, "type")) if record.type else (TypeFormat.UNKNOWN, b"")
    if type_format is TypeFormat.UNCHANGED or (type_format is TypeFormat.NONE and record.data):
        raise ValueError(f"a payload of {len(record.data)} bytes cannot have the type format {type_format.name}")
    return type_format, b""


def _name(text: str, what: str) -> bytes:
    name = text.encode()
    if len(name) > LONGEST_NAME:
        raise Refused("wire.too-large", f"the {what} of a part has {len(name)} bytes; DIME allows {LONGEST_NAME}")
    return name
