"""Client certificates as credentials: read from PEM, known by the SHA-256 of their DER form."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding


class Certificate(NamedTuple):
    pem: str  # this one certificate and nothing else
    fingerprint: str
    expires_at_us: int
    subject: str


def read(pem: str) -> Certificate | None:
    """The certificate in a PEM text, or None when it is not exactly one (a private key beside it is not welcome either)."""
    if "PRIVATE KEY" in pem:
        return None
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
        if len(found) != 1:
            return None
        der = found[0].public_bytes(Encoding.DER)
        expires_at_us = int(found[0].not_valid_after_utc.timestamp() * 1_000_000)
        subject = found[0].subject.rfc4514_string()
    except (ValueError, TypeError, x509.UnsupportedGeneralNameType):
        return None
    return Certificate(found[0].public_bytes(Encoding.PEM).decode(), sha256(der).hexdigest(), expires_at_us, subject)
