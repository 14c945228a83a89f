"""Signed attributes: what a signer states about the content, and the bytes that the signature covers.

Rule: the content type and its digest must each occur exactly once; otherwise the message is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hmac import compare_digest

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.ber import BerElement, canonical
from postroad.core.codecs.cms.der import SET, header
from postroad.core.codecs.cms.refusals import CONTENT, signature_invalid, too_complex

_MAX_BYTES = 64 << 10


def check_attributes(attributes: BerElement, content_type: bytes, content_digest: bytes) -> None:
    """Checks that the attributes belong to this content."""
    if attributes.stop - attributes.start > _MAX_BYTES:
        raise too_complex(f"The signed attributes are longer than {_MAX_BYTES} bytes")
    said = _attributes_by_type(attributes)
    if said[oids.CONTENT_TYPE].oid() != content_type:
        raise signature_invalid("The signature is for content of another type; ask the sender to sign again", CONTENT)
    if not compare_digest(said[oids.MESSAGE_DIGEST].string("digest of the content").octets(), content_digest):
        raise signature_invalid("The content differs from the signed content; it was changed in transit", CONTENT)


def _attributes_by_type(attributes: BerElement) -> dict[bytes, BerElement]:
    """The two attributes that must be there, each once and with one value."""
    said: dict[bytes, BerElement] = {}
    for attribute in attributes.children():
        fields = attribute.fields()
        name = fields.take("name of the attribute").oid()
        if name not in (oids.CONTENT_TYPE, oids.MESSAGE_DIGEST):
            continue
        if name in said:
            raise signature_invalid("A signed attribute is repeated; ask the sender to sign again", CONTENT)
        said[name] = fields.take("value of the attribute", SET).only_child()
    if len(said) != 2:
        raise signature_invalid(
            "The signature does not say which content it is for; ask the sender to sign again", CONTENT
        )
    return said


def list_signed_forms(attributes: BerElement) -> Iterator[bytes]:
    """The bytes that may have been signed: the attributes as received, or in DER as the standard requires."""
    content = bytes(attributes.content())
    as_it_stands = header(SET, len(content)) + content
    yield as_it_stands
    in_der = canonical_set(attributes)
    if in_der != as_it_stands:
        yield in_der


def canonical_set(attributes: BerElement) -> bytes:
    """The attributes as the SET that signatures cover; in messages they have another tag."""
    content = b"".join(sorted(canonical(attribute) for attribute in attributes.children()))
    return header(SET, len(content)) + content


def could_be_attributes(content: Sequence[Buffer]) -> bool:
    """Return True if content could be another message's signed attributes, whose signature would then appear valid."""
    filled = [piece for piece in content if piece]
    if not filled or filled[0][0] != SET:
        return False
    return oids.MESSAGE_DIGEST in b"".join(piece[:_MAX_BYTES] for piece in filled)[:_MAX_BYTES]
