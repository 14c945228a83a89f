"""ContentInfo, the outermost structure of every CMS message: its type and its content."""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.ber import BerElement, first_inside, read
from postroad.core.codecs.cms.der import OID, SEQUENCE, context_tag, enclose_pieces
from postroad.core.codecs.cms.refusals import malformed, unsupported

_KINDS = {
    oids.DATA: "data",
    oids.SIGNED_DATA: "signed",
    oids.ENVELOPED_DATA: "enveloped",
    oids.AUTH_ENVELOPED_DATA: "auth-enveloped",
    oids.COMPRESSED_DATA: "compressed",
}


def content_kind(buffer: Buffer) -> str:
    """Return ``signed``, ``enveloped``, ``auth-enveloped``, ``compressed`` or ``data``; reads only the beginning."""
    return _kind(first_inside(buffer))


def open_content(buffer: Buffer, *kinds: str) -> tuple[str, BerElement]:
    """Returns which of these kinds the message is, and its content."""
    outermost = read(buffer)
    if outermost.tag != SEQUENCE:
        raise malformed("This is not a CMS message", 0)
    fields = outermost.fields()
    kind = _kind(fields.take("content type", OID))
    if kind not in kinds:
        raise unsupported(f"The message holds {kind} content where {' or '.join(kinds)} content is expected")
    content = fields.take("content", context_tag(0)).only_child()
    fields.end()
    return kind, content


def wrap_content(content_type: bytes, content: Sequence[Buffer]) -> bytes:
    """The whole message: here, and only here, its pieces are joined."""
    return b"".join(
        enclose_pieces(SEQUENCE, [content_type, *enclose_pieces(context_tag(0), enclose_pieces(SEQUENCE, content))])
    )


def as_pieces(content: Buffer | Sequence[Buffer]) -> Sequence[Buffer]:
    """Content in pieces, also where it was given in one."""
    return (content,) if isinstance(content, bytes | memoryview) else content


def _kind(content_type: BerElement) -> str:
    kind = _KINDS.get(content_type.oid())
    if kind is None:
        raise unsupported("CMS content of this type is not supported; send signed, enveloped or compressed data")
    return kind
