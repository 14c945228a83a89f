"""The wrapper of a received message: all of its bytes except the parts, so that it can be reproduced exactly.

The wire is stored as pieces: unchanged bytes, and slots for the parts. It is stored behind the parts in the journal,
and deleted with them. A wrapper fits only the parts with which it arrived.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from zlib import crc32

import msgspec
from msgspec import Struct

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import Entity, encode_content, read_entity
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

WORTH_A_SLOT = 64  # minimum bytes of a slot; shorter parts are also stored in the wrapper
MAX_MISSES = 3  # parts not found in the wire; then the rest of it is stored without slots
_ANY = WireLimits(body_bytes=1 << 40, mime_headers=1 << 40, mime_header_bytes=1 << 40)


class Slot(Struct, gc=False, frozen=True, array_like=True):
    """The position of a part, or of a piece of it, in the wire."""

    part: int  # its index
    begin: int = 0
    end: int = -1  # -1: to its end
    encoding: str = ""  # base64: in lines of 76 characters


Piece = bytes | Slot
Pieces = tuple[Piece, ...]


class Wrapper(Struct, gc=False, frozen=True, array_like=True):
    """The wrapper of one message."""

    format: Format
    media_type: str  # of the wire, with its parameters
    wire: Pieces  # empty if a block for the network was removed, so that the original bytes cannot be delivered
    mark: int  # of the parts that fit in
    envelope: Pieces = ()  # the SOAP envelope of the message, where it wraps a document, also in pieces
    action: str = ""  # SOAPAction
    head: bytes = b""  # the header block of the entity, if it had one; of a message/rfc822 with the empty line
    chunked: tuple[int, ...] = ()  # indexes of the parts that were received in chunks

    def fits(self, parts: Sequence[Part]) -> bool:
        return self.mark == mark_of(parts)

    def fill(self, parts: Sequence[Part]) -> list[Buffer]:
        return fill_pieces(self.wire, parts)

    def header_block(self) -> Entity:
        """Return the parsed header block; it has passed all limits on arrival."""
        return read_entity(self.head, _ANY)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Wrapper)


def pack_wrapper(wrapper: Wrapper) -> bytes:
    return _ENCODER.encode(wrapper)


def unpack_wrapper(data: Buffer) -> Wrapper:
    return _DECODER.decode(data)


def strip_parts(data: bytes) -> bytes:
    """Return a packed wrapper without the data about its parts, for changed parts; empty if nothing remains."""
    wrapper = unpack_wrapper(data)
    if not wrapper.action:
        return b""
    return pack_wrapper(Wrapper(wrapper.format, wrapper.media_type, (), wrapper.mark, action=wrapper.action))


def mark_of(parts: Iterable[Part]) -> int:
    """A checksum of the parts, so that changed parts are not put into an old wrapper."""
    mark = 0
    for part in parts:
        said = (part.id, part.content_type, part.expires_at_us, part.attachment, part.headers, len(part.data))
        mark = crc32(part.data, crc32(repr(said).encode(), mark))
    return mark


def fill_pieces(pieces: Iterable[Piece], parts: Sequence[Part]) -> list[Buffer]:
    """Return the bytes of the wire, as a list of buffers."""
    return [piece if isinstance(piece, bytes) else _in_slot(piece, parts[piece.part].data) for piece in pieces]


def _in_slot(slot: Slot, data: bytes) -> Buffer:
    if slot.encoding:
        return encode_content(data, "base64")
    return data if slot.end < 0 else memoryview(data)[slot.begin : slot.end]


def cut_wire(wire: bytes, stretches: Iterable[tuple[Buffer, Slot]]) -> Pieces:
    """Cut the wire into pieces, with slots for these stretches of parts.

    The stretches are searched in order. A match at any position is correct, because the same bytes are filled in there; a
    part with another spelling stays in the wire.
    """
    pieces: list[Piece] = []
    at = missed = 0
    for data, slot in stretches:
        if len(data) < WORTH_A_SLOT or missed == MAX_MISSES:
            continue
        place = wire.find(data, at)
        if place < 0:
            missed += 1
            continue
        pieces += [wire[at:place], slot] if place > at else [slot]
        at = place + len(data)
    return (*pieces, wire[at:]) if at < len(wire) else tuple(pieces)


def stretches(parts: Sequence[Part], encodings: Sequence[str] = (), first: int = 0) -> Iterator[tuple[Buffer, Slot]]:
    """Yield every part in the transfer encoding that it has on the wire; ``first`` is the index of the first one."""
    for index, part in enumerate(parts):
        if encodings and encodings[index] == "base64":
            yield encode_content(part.data, "base64"), Slot(first + index, encoding="base64")
        else:
            yield part.data, Slot(first + index)
