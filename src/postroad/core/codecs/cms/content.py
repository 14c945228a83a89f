"""ContentInfo, the outermost structure of every CMS message: what it is, and the thing itself."""

from __future__ import annotations

from collections.abc import Sequence

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.ber import Element, first_inside, read
from postroad.core.codecs.cms.der import OID, SEQUENCE, enclosed, tagged
from postroad.core.codecs.cms.faults import malformed, unsupported

_KINDS = {
    oids.DATA: "data",
    oids.SIGNED_DATA: "signed",
    oids.ENVELOPED_DATA: "enveloped",
    oids.AUTH_ENVELOPED_DATA: "auth-enveloped",
    oids.COMPRESSED_DATA: "compressed",
}


def content_kind(buffer: Buffer) -> str:
    """``signed``, ``enveloped``, ``auth-enveloped``, ``compressed`` or ``data``; only the beginning is looked at."""
    return _kind(first_inside(buffer))


def opened(buffer: Buffer, *kinds: str) -> tuple[str, Element]:
    """Which of the kinds the message is, and its content."""
    outermost = read(buffer)
    if outermost.tag != SEQUENCE:
        raise malformed("This is no CMS message", 0)
    fields = outermost.fields()
    kind = _kind(fields.take("content type", OID))
    if kind not in kinds:
        raise unsupported(f"The message holds {kind} content where {' or '.join(kinds)} content is expected")
    content = fields.take("content", tagged(0)).only_child()
    fields.end()
    return kind, content


def closed(content_type: bytes, content: Sequence[Buffer]) -> bytes:
    """The whole message: here, and only here, its pieces are joined."""
    return b"".join(enclosed(SEQUENCE, [content_type, *enclosed(tagged(0), enclosed(SEQUENCE, content))]))


def views(content: Buffer | Sequence[Buffer]) -> Sequence[Buffer]:
    """Content in pieces, also where it was given in one."""
    return (content,) if isinstance(content, bytes | memoryview) else content


def _kind(content_type: Element) -> str:
    kind = _KINDS.get(content_type.oid())
    if kind is None:
        raise unsupported("CMS content of this type is not read here; send signed, enveloped or compressed data")
    return kind
