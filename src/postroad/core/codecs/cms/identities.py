"""Signing and decryption identities: a certificate with its private key and its chain.

Rule: a key that does not belong to its certificate is refused when it is read, not when a partner complains.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12

from postroad.core.codecs.cms.schemes import SigningKey
from postroad.errors import Refused

_PEM_KEY = re.compile(rb"-----BEGIN ([A-Z ]*PRIVATE KEY)-----.*?-----END \1-----", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    certificate: x509.Certificate
    key: SigningKey = field(repr=False)
    chain: tuple[x509.Certificate, ...] = ()
    rejection_secret: bytes = field(init=False, repr=False, compare=False)  # decrypting goes on with it after a failure

    def __post_init__(self) -> None:
        object.__setattr__(self, "rejection_secret", _rejection_secret(self.key))


def identity_from_pem(pem: bytes, password: bytes | None = None) -> Identity:
    """Reads an identity from a PEM file with one private key, its certificate and others."""
    keys, certificates = _read_pem(pem, password)
    return _identity(keys[0], certificates)


def identities_from_pem(pem: bytes, password: bytes | None = None) -> tuple[Identity, ...]:
    """From a PEM file with one or several pairs of key and certificate, in the order of the certificates.

    While a key is rolled over the new pair stands before the old one: the first signs, and all of them decrypt.
    """
    keys, certificates = _read_pem(pem, password)
    own = [one for one in certificates if any(one.public_key() == key.public_key() for key in keys)]
    chain = [one for one in certificates if one not in own]
    if unpaired := [key for key in keys if all(one.public_key() != key.public_key() for one in own)]:
        _identity(unpaired[0], chain)  # says what is wrong with it
    return tuple([_identity(_key_of(one, keys), [one, *chain]) for one in own])


def _key_of(certificate: x509.Certificate, keys: list[PrivateKeyTypes]) -> PrivateKeyTypes:
    return next(key for key in keys if key.public_key() == certificate.public_key())


def _read_pem(pem: bytes, password: bytes | None) -> tuple[list[PrivateKeyTypes], list[x509.Certificate]]:
    """All private keys, of which there is one at least, and all certificates."""
    blocks = [found.group() for found in _PEM_KEY.finditer(pem)]
    if not blocks:
        raise _unusable("there is no private key in it")
    try:
        return [load_pem_private_key(block, password) for block in blocks], x509.load_pem_x509_certificates(pem)
    except (ValueError, TypeError, UnsupportedAlgorithm) as fault:
        raise _unusable(str(fault).split("\n")[0][:120]) from None


def identity_from_pkcs12(pkcs12: bytes, password: bytes | None = None) -> Identity:
    """Reads an identity from a PKCS#12 file (.p12, .pfx)."""
    try:
        found = load_pkcs12(pkcs12, password)
    except (ValueError, TypeError, UnsupportedAlgorithm) as fault:
        raise _unusable(str(fault).split("\n")[0][:120]) from None
    certificates = [bag.certificate for bag in (found.cert, *found.additional_certs) if bag]
    return _identity(found.key, certificates)


def _identity(key: PrivateKeyTypes | None, certificates: list[x509.Certificate]) -> Identity:
    if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
        raise _unusable("its private key is neither RSA nor of an elliptic curve")
    own = next((one for one in certificates if one.public_key() == key.public_key()), None)
    if own is None:
        raise _unusable("none of its certificates belongs to its private key")
    return Identity(certificate=own, key=key, chain=tuple(one for one in certificates if one != own))


def _unusable(reason: str) -> Refused:
    detail = f"This key file cannot be used: {reason}; it needs a private key, its certificate, and the right password"
    return Refused("value.invalid", detail)


def _rejection_secret(key: SigningKey) -> bytes:
    """A secret derived from the key, stable across restarts, so that repeated failures look the same."""
    numbers = key.private_numbers()
    secret = numbers.d if isinstance(numbers, rsa.RSAPrivateNumbers) else numbers.private_value
    return sha256(b"postroad cms implicit rejection" + secret.to_bytes((secret.bit_length() + 7) // 8, "big")).digest()
