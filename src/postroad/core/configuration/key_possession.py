"""Proof that the person who registers a client certificate has its private key.

Certificates are public, and connections that present one act as the service that has registered it. So the network
creates a challenge for the person who registers it, and that person signs it with the key of the certificate. Rules:
a challenge is for one person, ends after 15 minutes, and is not stored. The signed text contains its purpose, so a
signature that was made for another purpose cannot be used here.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from postroad.core.identity.form_proof import FormProofs

PURPOSE = "postroad-certificate."
SUBJECT = "certificate"  # of the proof in a challenge
MAX_SIGNATURE_CHARS = 4_096  # characters, in base64


class KeyPossessionProof(NamedTuple):
    """The challenge, and its signature in base64."""

    challenge: str
    signature: str


def make_challenge(proofs: FormProofs, person: str, now_us: int) -> str:
    return PURPOSE + proofs.make(person, SUBJECT, now_us)


def has_private_key(pem: str, given: KeyPossessionProof, proofs: FormProofs, person: str, now_us: int) -> bool:
    """True if the challenge is current, was issued to this person, and is signed with the certificate's key."""
    if not given.challenge.startswith(PURPOSE) or len(given.signature) > MAX_SIGNATURE_CHARS:
        return False
    if not proofs.holds(given.challenge.removeprefix(PURPOSE), person, SUBJECT, now_us):
        return False
    try:
        signature = b64decode("".join(given.signature.split()), validate=True)
        key = x509.load_pem_x509_certificate(pem.encode()).public_key()
        _verify(key, signature, given.challenge.encode())
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def sign_challenge(key_pem: bytes, challenge: str) -> str:
    """The signature of a challenge, as ``openssl dgst -sha256 -sign KEY`` makes it, in base64; raises ValueError."""
    key, data = load_pem_private_key(key_pem, None), challenge.encode()
    match key:
        case rsa.RSAPrivateKey():
            signature = key.sign(data, padding.PKCS1v15(), hashes.SHA256())
        case ec.EllipticCurvePrivateKey():
            signature = key.sign(data, ec.ECDSA(hashes.SHA256()))
        case ed25519.Ed25519PrivateKey() | ed448.Ed448PrivateKey():
            signature = key.sign(data)
        case _:
            raise ValueError("keys of this type cannot sign a challenge; use RSA, ECDSA or EdDSA")
    return b64encode(signature).decode()


def is_key_of(key_pem: bytes, pem: str) -> bool:
    """Whether the private key belongs to the certificate; raises ValueError when either cannot be read."""
    public = load_pem_private_key(key_pem, None).public_key()
    certified = x509.load_pem_x509_certificate(pem.encode()).public_key()
    form = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return public.public_bytes(*form) == certified.public_bytes(*form)


def _verify(key: object, signature: bytes, data: bytes) -> None:
    match key:
        case rsa.RSAPublicKey():
            key.verify(signature, data, padding.PKCS1v15(), hashes.SHA256())
        case ec.EllipticCurvePublicKey():
            key.verify(signature, data, ec.ECDSA(hashes.SHA256()))
        case ed25519.Ed25519PublicKey() | ed448.Ed448PublicKey():
            key.verify(signature, data)
        case _:
            raise InvalidSignature
