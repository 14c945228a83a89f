"""EnvelopedData and AuthEnvelopedData: content that only its recipients can read.

A RecipientInfo has the key of the content, encrypted for one recipient. Ciphers that authenticate (GCM) make
AuthEnvelopedData (RFC 5083); content that others put into EnvelopedData with the tag behind it, as BouncyCastle does, is
read too.

Rule (RFC 3218, "implicit rejection"): a key that cannot be decrypted is replaced by a random one, and processing
continues. So a sender who tries encrypted keys learns nothing, neither from the answer nor from the time it takes.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.attributes import canonical_set
from postroad.core.codecs.cms.ber import BerElement, BerFields
from postroad.core.codecs.cms.certificates import marks_of
from postroad.core.codecs.cms.ciphers import SealedContent, cipher_in, find_cipher
from postroad.core.codecs.cms.content import as_pieces, open_content, wrap_content
from postroad.core.codecs.cms.der import (
    CONSTRUCTED,
    INTEGER,
    NULL,
    OCTET_STRING,
    OID,
    SEQUENCE,
    SET,
    context_tag,
    element,
    enclose_pieces,
    sequence,
    set_of,
    small_integer,
)
from postroad.core.codecs.cms.digests import DIGESTS, SHA1, digest_in
from postroad.core.codecs.cms.identities import Identity
from postroad.core.codecs.cms.refusals import decryption_failed, malformed, not_for_us, too_complex, unsupported
from postroad.core.codecs.cms.schemes import mask_digest_in

MAX_RECIPIENTS = 1000
Padding = padding.PKCS1v15 | padding.OAEP

_PKCS1 = sequence(oids.RSA, element(NULL))
_SHA256 = DIGESTS["sha256"]
_OAEP = sequence(
    oids.RSA_OAEP,
    sequence(
        element(context_tag(0), _SHA256.identifier), element(context_tag(1), sequence(oids.MGF1, _SHA256.identifier))
    ),
)


def recipient_info(recipient: x509.Certificate, key: bytes, *, oaep: bool) -> bytes:
    """The content's key, wrapped for one recipient."""
    marks = marks_of(recipient)
    if not isinstance(marks.key, rsa.RSAPublicKey):
        raise unsupported("Encryption needs an RSA certificate; register one of the recipient")
    way: Padding = padding.OAEP(padding.MGF1(_SHA256.hash), _SHA256.hash, None) if oaep else padding.PKCS1v15()
    try:
        wrapped = element(OCTET_STRING, marks.key.encrypt(key, way))
    except ValueError:
        raise unsupported("The recipient's RSA key is too short to wrap a key for it; register a longer one") from None
    return sequence(_VERSION, marks.issuer_and_serial, _OAEP if oaep else _PKCS1, wrapped)


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedKey:
    key: rsa.RSAPrivateKey
    rejection_secret: bytes
    way: Padding
    octets: bytes

    def unwrap(self, length: int) -> bytes:
        """Unwraps the content's key; returns a random one on failure."""
        instead = hmac.digest(self.rejection_secret, self.octets, "sha256")[:length]
        try:
            found = self.key.decrypt(self.octets, self.way)
        except (ValueError, UnsupportedAlgorithm):
            return instead
        return found if len(found) == length else instead


def find_wrapped_keys(recipient_infos: BerElement, identities: Sequence[Identity]) -> list[WrappedKey]:
    """The wrapped keys for our identities: the first for each, which bounds the work."""
    found: dict[int, WrappedKey] = {}
    for recipient in _key_transports(recipient_infos):
        fields = recipient.fields()
        fields.take("version", INTEGER)
        mark = fields.take("name of the recipient")
        algorithm, wrapped = fields.take("key wrapping", SEQUENCE), fields.take("wrapped key")
        for place, identity in enumerate(identities):
            if place not in found and marks_of(identity.certificate).are_named_by(mark):
                found[place] = _wrapped_key(identity, algorithm, wrapped)
    return list(found.values())


def _key_transports(recipient_infos: BerElement) -> list[BerElement]:
    """Return the recipients with RSA-wrapped keys; other methods (key agreement, passwords) are ignored."""
    recipients = recipient_infos.children()
    if len(recipients) > MAX_RECIPIENTS:
        raise too_complex(f"The message has more than {MAX_RECIPIENTS} recipients")
    return [recipient for recipient in recipients if recipient.tag == SEQUENCE]


def _wrapped_key(identity: Identity, algorithm: BerElement, wrapped: BerElement) -> WrappedKey:
    if not isinstance(identity.key, rsa.RSAPrivateKey):
        raise unsupported("The message is encrypted for a key that is not RSA; use an RSA certificate of the network")
    return WrappedKey(
        key=identity.key,
        rejection_secret=identity.rejection_secret,
        way=_way(algorithm),
        octets=wrapped.string("wrapped key").octets(),
    )


def _way(algorithm: BerElement) -> Padding:
    fields = algorithm.fields()
    oid = fields.take("key wrapping", OID).oid()
    if oid == oids.RSA:
        return padding.PKCS1v15()
    if oid != oids.RSA_OAEP:
        raise unsupported("The message's key encryption is not supported; use RSA PKCS#1 or OAEP")
    parameters = fields.maybe(SEQUENCE)
    return _oaep(parameters) if parameters else padding.OAEP(padding.MGF1(SHA1.hash), SHA1.hash, None)


def _oaep(parameters: BerElement) -> padding.OAEP:
    fields = parameters.fields()
    hashed, masked, labelled = (fields.maybe(context_tag(place)) for place in range(3))
    digest = digest_in(hashed.only_child()) if hashed else SHA1
    mask = mask_digest_in(masked.only_child()) if masked else SHA1
    return padding.OAEP(padding.MGF1(mask.hash), digest.hash, _label(labelled.only_child()) if labelled else None)


def _label(source: BerElement) -> bytes | None:
    fields = source.fields()
    if fields.take("label", OID).oid() != oids.P_SPECIFIED:
        raise unsupported("The message's key encryption is not supported; use RSA PKCS#1 or OAEP")
    return fields.take("label").string("label").octets() or None


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
    pieces, tag = chosen.seal(as_pieces(content), key, vector)
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
    fields.maybe(context_tag(0))  # about the originator, not needed
    keys = find_wrapped_keys(fields.take("list of recipients", SET), identities)
    sealed = _sealed(fields, authenticated=kind == "auth-enveloped")
    if not keys:
        raise not_for_us()
    for key in keys:
        found = sealed.open(key.unwrap(sealed.cipher.key_bytes))
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
