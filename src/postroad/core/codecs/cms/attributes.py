"""Signed attributes: what a signer says of the content, and which bytes the signature covers for it.

Kept rule: the type of the content and its digest are said exactly once each; whoever says one twice is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hmac import compare_digest

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.ber import Element, canonical
from postroad.core.codecs.cms.der import SET, header
from postroad.core.codecs.cms.faults import CONTENT, signature_invalid, too_complex

_MOST_BYTES = 64 << 10


def check_attributes(attributes: Element, content_type: bytes, content_digest: bytes) -> None:
    """That they speak of this content."""
    if attributes.stop - attributes.start > _MOST_BYTES:
        raise too_complex(f"The signed attributes are longer than {_MOST_BYTES} bytes")
    said = _said(attributes)
    if said[oids.CONTENT_TYPE].oid() != content_type:
        raise signature_invalid("The signature is for content of another type; ask the sender to sign again", CONTENT)
    if not compare_digest(said[oids.MESSAGE_DIGEST].string("digest of the content").octets(), content_digest):
        raise signature_invalid(
            "The content is not what was signed: it was changed on the way, or never was this", CONTENT
        )


def _said(attributes: Element) -> dict[bytes, Element]:
    """The two attributes that must be there, each once and with one value."""
    said: dict[bytes, Element] = {}
    for attribute in attributes.children():
        fields = attribute.fields()
        name = fields.take("name of the attribute").oid()
        if name not in (oids.CONTENT_TYPE, oids.MESSAGE_DIGEST):
            continue
        if name in said:
            raise signature_invalid("A signed attribute is there twice; ask the sender to sign again", CONTENT)
        said[name] = fields.take("value of the attribute", SET).only_child()
    if len(said) != 2:
        raise signature_invalid(
            "The signature does not say which content it is for; ask the sender to sign again", CONTENT
        )
    return said


def signed_forms(attributes: Element) -> Iterator[bytes]:
    """What may have been signed: the attributes as they stand, or in DER as the standard wants it."""
    content = bytes(attributes.content())
    as_it_stands = header(SET, len(content)) + content
    yield as_it_stands
    in_der = canonical_set(attributes)
    if in_der != as_it_stands:
        yield in_der


def canonical_set(attributes: Element) -> bytes:
    """Attributes stand in a message under another tag, and count as the SET that they are."""
    content = b"".join(sorted(canonical(attribute) for attribute in attributes.children()))
    return header(SET, len(content)) + content


def could_be_attributes(content: Sequence[Buffer]) -> bool:
    """Whether content could be somebody's signed attributes, whose signature would then seem to be one over the content."""
    filled = [piece for piece in content if piece]
    if not filled or filled[0][0] != SET:
        return False
    return oids.MESSAGE_DIGEST in b"".join(piece[:_MOST_BYTES] for piece in filled)[:_MOST_BYTES]
