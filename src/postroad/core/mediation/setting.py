"""How a message was wrapped when it came: all of its wire but for the parts, so that the same bytes can be given again.

The wire is kept as pieces: bytes as they stand, and slots into which parts go. It lies behind the parts in the journal, and is
forgotten with them. A setting fits only the very parts with which it came.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct

from postroad.core.codecs.buffers import Buffer
from postroad.core.model.formats import Format
from postroad.core.model.message import Part

BASE64_LINE = 57  # bytes that make a line of 76 characters
WORTH_A_SLOT = 64  # bytes: what is shorter is kept twice
MISSES_MOST = 3  # stretches that are looked for in vain; then the rest of the wire is kept as it stands


class Slot(Struct, gc=False, frozen=True, array_like=True):
    """The place of a part, or of a piece of it, in the wire."""

    part: int  # its index
    begin: int = 0
    end: int = -1  # -1: to its end
    encoding: str = ""  # base64: in lines of 76 characters


Piece = bytes | Slot
Pieces = tuple[Piece, ...]


class Setting(Struct, gc=False, frozen=True, array_like=True):
    """One message's wrapping."""

    format: Format
    media_type: str  # of the wire, with its parameters
    wire: Pieces
    sizes: tuple[int, ...]  # of the parts that fit in
    envelope: Pieces = ()  # the SOAP envelope of the message, where there is one, likewise in pieces
    action: str = ""  # SOAPAction
    head: bytes = b""  # the header block of the entity, exactly, where it had one of its own

    def fits(self, parts: Sequence[Part]) -> bool:
        return self.sizes == tuple([len(part.data) for part in parts])

    def filled(self, parts: Sequence[Part]) -> list[Buffer]:
        return filled(self.wire, parts)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Setting)


def packed(setting: Setting) -> bytes:
    return _ENCODER.encode(setting)


def unpacked(data: Buffer) -> Setting:
    return _DECODER.decode(data)


def filled(pieces: Iterable[Piece], parts: Sequence[Part]) -> list[Buffer]:
    """The bytes again, as a list of buffers."""
    return [piece if isinstance(piece, bytes) else _in_slot(piece, parts[piece.part].data) for piece in pieces]


def _in_slot(slot: Slot, data: bytes) -> Buffer:
    if slot.encoding:
        return base64_lines(data)
    return data if slot.end < 0 else memoryview(data)[slot.begin : slot.end]


def base64_lines(data: Buffer) -> bytes:
    view = memoryview(data)
    lines = [b2a_base64(view[at : at + BASE64_LINE], newline=False) for at in range(0, len(view), BASE64_LINE)]
    return b"\r\n".join(lines)


def cut(wire: bytes, stretches: Iterable[tuple[bytes, Slot]]) -> Pieces:
    """The wire in pieces, with slots where these stretches of parts stand in it.

    They are looked for in their order. It does not matter where one is found, since the same bytes go back there; what is not
    found, because it is spelled in another way, stays in the wire as it stands.
    """
    pieces: list[Piece] = []
    at = missed = 0
    for data, slot in stretches:
        place = wire.find(data, at) if len(data) >= WORTH_A_SLOT and missed < MISSES_MOST else -1
        if place < 0:
            missed += len(data) >= WORTH_A_SLOT
            continue
        pieces += [wire[at:place], slot] if place > at else [slot]
        at = place + len(data)
    return (*pieces, wire[at:]) if at < len(wire) else tuple(pieces)


def stretches(parts: Sequence[Part], encodings: Sequence[str] = ()) -> Iterator[tuple[bytes, Slot]]:
    """Every part whole, in the transfer encoding in which it stands in the wire."""
    for index, part in enumerate(parts):
        if encodings and encodings[index] == "base64":
            yield base64_lines(part.data), Slot(index, encoding="base64")
        else:
            yield part.data, Slot(index)
