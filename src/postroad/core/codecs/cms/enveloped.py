"""EnvelopedData and AuthEnvelopedData: content that only its recipients can read.

Ciphers that authenticate (GCM) make AuthEnvelopedData (RFC 5083); content that others put into EnvelopedData with the tag behind
it, as BouncyCastle does, is read too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cryptography import x509

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.attributes import canonical_set
from postroad.core.codecs.cms.ber import BerElement, BerFields
from postroad.core.codecs.cms.ciphers import SealedContent, cipher_in, find_cipher
from postroad.core.codecs.cms.content import as_pieces, open_content, wrap_content
from postroad.core.codecs.cms.der import (
    CONSTRUCTED,
    INTEGER,
    OCTET_STRING,
    OID,
    SEQUENCE,
    SET,
    context_tag,
    element,
    enclose_pieces,
    set_of,
    small_integer,
)
from postroad.core.codecs.cms.identities import Identity
from postroad.core.codecs.cms.recipients import find_wrapped_keys, recipient_info
from postroad.core.codecs.cms.refusals import decryption_failed, malformed, not_for_us

_VERSION = small_integer(0)
_CONTENT = context_tag(0, constructed=False)


def encrypt(
    content: Buffer | Sequence[Buffer],
    recipients: Sequence[x509.Certificate],
    *,
    cipher: str = "aes256-cbc",
    oaep: bool = False,
    randomness: Callable[[int], bytes],
) -> bytes:
    """An enveloped message in DER. ``oaep`` wraps the key with RSA-OAEP (SHA-256) in place of PKCS#1 v1.5."""
    if not recipients:
        raise ValueError("a message without recipients cannot be decrypted")
    chosen = find_cipher(cipher)
    key, vector = randomness(chosen.key_bytes), randomness(chosen.vector_bytes)
    pieces, tag = chosen.sealed(as_pieces(content), key, vector)
    inside: list[Buffer] = [
        _VERSION,
        set_of(recipient_info(recipient, key, oaep=oaep) for recipient in recipients),
        *enclose_pieces(SEQUENCE, [oids.DATA, chosen.identifier(vector), *enclose_pieces(_CONTENT, pieces)]),
    ]
    if chosen.authenticates:
        return wrap_content(oids.AUTH_ENVELOPED_DATA, [*inside, element(OCTET_STRING, tag)])
    return wrap_content(oids.ENVELOPED_DATA, inside)


def decrypt(enveloped: Buffer, identities: Sequence[Identity]) -> bytes:
    """The content, for whichever of our identities it was encrypted."""
    kind, content = open_content(enveloped, "enveloped", "auth-enveloped")
    fields = content.fields()
    fields.take("version", INTEGER)
    fields.maybe(context_tag(0))  # about the originator, which no one needs
    keys = find_wrapped_keys(fields.take("list of recipients", SET), identities)
    sealed = _sealed(fields, authenticated=kind == "auth-enveloped")
    if not keys:
        raise not_for_us()
    for key in keys:
        found = sealed.opened(key.unwrapped(sealed.cipher.key_bytes))
        if found is not None:
            return found
    raise decryption_failed()


def _sealed(fields: BerFields, *, authenticated: bool) -> SealedContent:
    encrypted = fields.take("encrypted content", SEQUENCE).fields()
    encrypted.take("type of the encrypted content", OID)
    cipher, vector, tag_bytes = cipher_in(encrypted.take("cipher", SEQUENCE))
    pieces = encrypted.take("encrypted content", _CONTENT, _CONTENT | CONSTRUCTED).pieces()
    if authenticated:
        attributes = fields.maybe(context_tag(1))
        also = canonical_set(attributes) if attributes else b""
        tag = _tag(fields.take("tag"), tag_bytes)
        return SealedContent(cipher=cipher, vector=vector, pieces=pieces, tag=tag, also_authenticated=also)
    pieces, tag = _without_tag(pieces, tag_bytes)
    return SealedContent(cipher=cipher, vector=vector, pieces=pieces, tag=tag)


def _tag(found: BerElement, length: int) -> bytes:
    tag = found.string("tag").octets()
    if not length or len(tag) != length:
        raise malformed("The message's tag does not fit its cipher", found.begin)
    return tag


def _without_tag(pieces: list[memoryview], length: int) -> tuple[list[memoryview], bytes]:
    """Content and the tag behind it, which may be cut across the last pieces."""
    if not length:
        return pieces, b""
    if sum(map(len, pieces)) < length:
        raise malformed("The encrypted content is shorter than its tag", 0)
    kept, tag = list(pieces), b""
    while len(tag) < length:
        last = kept.pop()
        cut = max(0, len(last) - (length - len(tag)))
        tag = bytes(last[cut:]) + tag
        if cut:
            kept.append(last[:cut])
    return kept, tag
