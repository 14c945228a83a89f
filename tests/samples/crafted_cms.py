"""Messages that our own writer never makes: as other products write them, and as nobody honest does."""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from postroad.core.codecs.cms import Identity, oids
from postroad.core.codecs.cms.ber import BerElement, read
from postroad.core.codecs.cms.certificates import marks_of
from postroad.core.codecs.cms.content import wrap_content
from postroad.core.codecs.cms.der import NULL, OCTET_STRING, SET, context_tag, element, header, sequence, small_integer
from postroad.core.codecs.cms.digests import find_digest

END_MARK = b"\0\0"


def attribute(name: bytes, *values: bytes) -> bytes:
    return sequence(name, element(SET, *values))


def digest_attribute(content: bytes) -> bytes:
    return attribute(oids.MESSAGE_DIGEST, element(OCTET_STRING, find_digest("sha256").of([content])))


CONTENT_TYPE = attribute(oids.CONTENT_TYPE, oids.DATA)


def signer_info(
    signer: Identity,
    content: bytes,
    attributes: Sequence[bytes] | None = None,
    *,
    mark: bytes = b"",
    digest: bytes = oids.SHA256,
    scheme: bytes = oids.RSA,
    behind: bytes = b"",
) -> bytes:
    """A signature over the attributes just as they are given; over the content when there are none."""
    assert isinstance(signer.key, rsa.RSAPrivateKey)
    covered = content if attributes is None else element(SET, *attributes)
    return sequence(
        small_integer(1),
        mark or marks_of(signer.certificate).issuer_and_serial,
        sequence(digest, element(NULL)),
        b"" if attributes is None else element(context_tag(0), *attributes),
        sequence(scheme, element(NULL)),
        element(OCTET_STRING, signer.key.sign(covered, padding.PKCS1v15(), hashes.SHA256())),
        behind,
    )


def signed_data(*signer_infos: bytes, inside: bytes | None = None, content_type: bytes = oids.DATA) -> bytes:
    encapsulated = b"" if inside is None else element(context_tag(0), element(OCTET_STRING, inside))
    lists = (element(SET, sequence(oids.SHA256)), sequence(content_type, encapsulated), element(SET, *signer_infos))
    return wrap_content(oids.SIGNED_DATA, [small_integer(1), *lists])


def as_ber(der: bytes, piece_bytes: int = 7) -> bytes:
    """The same message with indefinite lengths everywhere, and strings in pieces."""
    return _as_ber(read(der), piece_bytes)


def _as_ber(found: BerElement, piece_bytes: int) -> bytes:
    content = bytes(found.content())
    if found.tag in (OCTET_STRING, context_tag(0, constructed=False)):
        cuts = range(0, len(content), piece_bytes)
        inside = b"".join(element(OCTET_STRING, content[cut : cut + piece_bytes]) for cut in cuts)
    elif found.tag & 0x20:
        inside = b"".join(_as_ber(child, piece_bytes) for child in found.children())
    else:
        return header(found.tag, len(content)) + content
    return bytes((found.tag | 0x20, 0x80)) + inside + END_MARK
