"""CompressedData (RFC 3274): content that zlib made smaller.

Kept rule: what comes out is limited while it comes out, by the message limit and by how much larger than its message it is; so a
bomb costs no more than an honest message. A stream that stops early, or is followed by something, is refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.ber import Element
from postroad.core.codecs.cms.content import closed, opened, views
from postroad.core.codecs.cms.der import (
    INTEGER,
    OCTET_STRING,
    OID,
    SEQUENCE,
    enclosed,
    sequence,
    small_integer,
    tagged,
)
from postroad.core.codecs.cms.faults import unsupported
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.errors import Refused

MOST_BYTES = 256 << 20
MOST_TIMES_LARGER = 200
ALWAYS_ALLOWED = (
    16 << 20
)  # up to here documents may be as regular as they like: EDI with much padding shrinks a thousandfold

_VERSION = small_integer(0)
_ZLIB = sequence(oids.ZLIB)


def compress(content: Buffer | Sequence[Buffer], level: int = 6) -> bytes:
    """A CompressedData message in DER."""
    stream = zlib.compressobj(level)
    pieces: list[Buffer] = [stream.compress(piece) for piece in views(content)]
    pieces.append(stream.flush())
    inside = enclosed(tagged(0), enclosed(OCTET_STRING, pieces))
    return closed(oids.COMPRESSED_DATA, [_VERSION, _ZLIB, *enclosed(SEQUENCE, [oids.DATA, *inside])])


def decompress(compressed: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> bytes:
    pieces = _zlib_stream(compressed).pieces()
    most = min(MOST_BYTES, limits.body_bytes, max(ALWAYS_ALLOWED, MOST_TIMES_LARGER * sum(map(len, pieces))))
    stream = zlib.decompressobj()
    found: list[bytes] = []
    left = most + 1  # one more than allowed, so that too much is seen
    for piece in pieces:
        found.append(_inflated(stream, piece, left))
        left -= len(found[-1])
        if not left:
            raise Refused("cms.too-large", f"The message holds more than {most} bytes once unpacked; send it in parts")
    if not stream.eof:
        raise _failed("it stops before its end")
    return b"".join(found)


def _zlib_stream(compressed: Buffer) -> Element:
    _, content = opened(compressed, "compressed")
    fields = content.fields()
    fields.take("version", INTEGER)
    if fields.take("compression algorithm", SEQUENCE).fields().take("compression algorithm", OID).oid() != oids.ZLIB:
        raise unsupported("The message is compressed in a way that is not known here; use zlib")
    encapsulated = fields.take("compressed content", SEQUENCE).fields()
    fields.end()
    encapsulated.take("type of the compressed content", OID)
    return encapsulated.take("compressed content", tagged(0)).only_child().string("compressed content")


def _inflated(stream: zlib._Decompress, piece: memoryview, most: int) -> bytes:
    if stream.eof and piece:
        raise _failed("something follows its end")
    try:
        found = stream.decompress(piece, most)
    except zlib.error:
        raise _failed("it is damaged") from None
    if stream.unused_data:
        raise _failed("something follows its end")
    return found


def _failed(reason: str) -> Refused:
    return Refused("cms.decompression-failed", f"The compressed content cannot be unpacked: {reason}; send it again")
