"""CompressedData (RFC 3274): content compressed with zlib.

Rule: the output is limited while it is produced, by the message limit and by its ratio to the compressed size, so a
decompression bomb costs no more than an honest message. A stream that is truncated, or followed by other data, is
refused.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.ber import BerElement
from postroad.core.codecs.cms.content import as_pieces, open_content, wrap_content
from postroad.core.codecs.cms.der import (
    INTEGER,
    OCTET_STRING,
    OID,
    SEQUENCE,
    context_tag,
    enclose_pieces,
    sequence,
    small_integer,
)
from postroad.core.codecs.cms.refusals import unsupported
from postroad.core.codecs.limits import DEFAULT_LIMITS, WireLimits
from postroad.errors import Refused

MAX_BYTES = 256 << 20
MAX_EXPANSION = 200
ALWAYS_ALLOWED = (
    16 << 20
)  # up to here documents may be as regular as they like: EDI with much padding shrinks a thousandfold

_VERSION = small_integer(0)
_ZLIB = sequence(oids.ZLIB)


def compress(content: Buffer | Sequence[Buffer], level: int = 6) -> bytes:
    """A CompressedData message in DER."""
    stream = zlib.compressobj(level)
    pieces: list[Buffer] = [stream.compress(piece) for piece in as_pieces(content)]
    pieces.append(stream.flush())
    inside = enclose_pieces(context_tag(0), enclose_pieces(OCTET_STRING, pieces))
    return wrap_content(oids.COMPRESSED_DATA, [_VERSION, _ZLIB, *enclose_pieces(SEQUENCE, [oids.DATA, *inside])])


def decompress(compressed: Buffer, limits: WireLimits = DEFAULT_LIMITS) -> bytes:
    pieces = _zlib_stream(compressed).pieces()
    most = min(MAX_BYTES, limits.body_bytes, max(ALWAYS_ALLOWED, MAX_EXPANSION * sum(map(len, pieces))))
    stream = zlib.decompressobj()
    found: list[bytes] = []
    left = most + 1  # one more than allowed, so that too much is seen
    for piece in pieces:
        found.append(_inflated(stream, piece, left))
        left -= len(found[-1])
        if not left:
            raise Refused("cms.too-large", f"The decompressed message has more than {most} bytes; split it")
    if not stream.eof:
        raise _failed("it stops before its end")
    return b"".join(found)


def _zlib_stream(compressed: Buffer) -> BerElement:
    _, content = open_content(compressed, "compressed")
    fields = content.fields()
    fields.take("version", INTEGER)
    if fields.take("compression algorithm", SEQUENCE).fields().take("compression algorithm", OID).oid() != oids.ZLIB:
        raise unsupported("The message's compression is not supported; use zlib")
    encapsulated = fields.take("compressed content", SEQUENCE).fields()
    fields.end()
    encapsulated.take("type of the compressed content", OID)
    return encapsulated.take("compressed content", context_tag(0)).only_child().string("compressed content")


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
    return Refused(
        "cms.decompression-failed", f"The compressed content cannot be decompressed: {reason}; send it again"
    )
