"""Signature schemes: how a signature's algorithm is named in a message, and how a key then signs and verifies.

Rule: the digest of a scheme must equal the signer's digest, so that no one can substitute a weak one.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.types import PublicKeyTypes
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.ber import BerElement
from postroad.core.codecs.cms.der import NULL, SEQUENCE, context_tag, element, sequence, small_integer
from postroad.core.codecs.cms.digests import SHA1, Digest, digest_in
from postroad.core.codecs.cms.refusals import unsupported

Padding = padding.PKCS1v15 | padding.PSS
SigningKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey

_RSA = {  # which digest each name speaks of; None leaves it to the signer's digest algorithm
    oids.RSA: None,
    oids.RSA_SHA1: "sha1",
    oids.RSA_SHA1_OF_OIW: "sha1",
    oids.RSA_SHA256: "sha256",
    oids.RSA_SHA384: "sha384",
    oids.RSA_SHA512: "sha512",
}
_ECDSA = {
    oids.EC_KEY: None,
    oids.ECDSA_SHA1: "sha1",
    oids.ECDSA_SHA256: "sha256",
    oids.ECDSA_SHA384: "sha384",
    oids.ECDSA_SHA512: "sha512",
}
_ECDSA_OF = {name: oid for oid, name in _ECDSA.items() if name}
_RSA_PKCS1 = sequence(oids.RSA, element(NULL))
_LONGEST_SALT = 1024


def scheme_for(key: SigningKey, digest: Digest, *, pss: bool) -> bytes:
    """The AlgorithmIdentifier of the signatures that ``signature`` makes."""
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return sequence(_ECDSA_OF[digest.name])
    return sequence(oids.RSA_PSS, _pss_parameters(digest)) if pss else _RSA_PKCS1


def make_signature(key: SigningKey, message: bytes, digest: Digest, *, pss: bool) -> bytes:
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(message, ec.ECDSA(digest.hash))
    try:
        return key.sign(message, _pss(digest) if pss else padding.PKCS1v15(), digest.hash)
    except ValueError:
        raise unsupported(f"The RSA key is too short to sign with {digest.name}; use a longer key") from None


def is_valid_signature(
    key: PublicKeyTypes, scheme: BerElement, digest: Digest, signed: bytes, message: bytes, *, hashed: bool
) -> bool:
    """Whether the signature is this key's. ``hashed``: the message is given as its digest already."""
    algorithm = Prehashed(digest.hash) if hashed else digest.hash
    wanted = _wanted(scheme, digest)
    try:
        if wanted is None and isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signed, message, ec.ECDSA(algorithm))
        elif wanted is not None and isinstance(key, rsa.RSAPublicKey):
            key.verify(signed, message, wanted, algorithm)
        else:
            return False  # an RSA signature by an elliptic curve, or the other way round
    except (InvalidSignature, ValueError, UnsupportedAlgorithm):
        return False
    return True


def _wanted(scheme: BerElement, digest: Digest) -> Padding | None:
    """How RSA pads, or None for ECDSA."""
    fields = scheme.fields()
    oid = fields.take("signature algorithm").oid()
    if oid == oids.RSA_PSS:
        parameters = fields.maybe(SEQUENCE)
        if parameters is None:  # pyas2lib leaves them out
            return padding.PSS(padding.MGF1(digest.hash), padding.PSS.AUTO)
        return _pss_in(parameters, digest)
    if oid not in _RSA and oid not in _ECDSA:
        raise unsupported("The message's signature algorithm is not supported; use RSA or ECDSA")
    if (_RSA.get(oid) or _ECDSA.get(oid) or digest.name) != digest.name:
        raise unsupported("A signature uses two digests; the sender must use one")
    return padding.PKCS1v15() if oid in _RSA else None


def _pss(digest: Digest) -> padding.PSS:
    return padding.PSS(padding.MGF1(digest.hash), digest.hash.digest_size)


def _pss_parameters(digest: Digest) -> bytes:
    mask = sequence(oids.MGF1, digest.identifier)
    salt = small_integer(digest.hash.digest_size)
    return sequence(
        element(context_tag(0), digest.identifier), element(context_tag(1), mask), element(context_tag(2), salt)
    )


def _pss_in(parameters: BerElement, digest: Digest) -> padding.PSS:
    fields = parameters.fields()
    hashed, masked, salted = fields.maybe(context_tag(0)), fields.maybe(context_tag(1)), fields.maybe(context_tag(2))
    if (digest_in(hashed.only_child()) if hashed else SHA1) is not digest:
        raise unsupported("A signature uses two digests; the sender must use one")
    mask = mask_digest_in(masked.only_child()) if masked else SHA1
    salt = salted.only_child().integer() if salted else 20
    if not 0 <= salt <= _LONGEST_SALT:
        raise unsupported("The salt of a signature is too long")
    return padding.PSS(padding.MGF1(mask.hash), salt)


def mask_digest_in(identifier: BerElement) -> Digest:
    """The digest of a mask generation function; there is one such function, MGF1."""
    fields = identifier.fields()
    if fields.take("mask generation function").oid() != oids.MGF1:
        raise unsupported("The message uses an unsupported mask generation function; use MGF1")
    return digest_in(fields.take("digest of the mask generation function"))
