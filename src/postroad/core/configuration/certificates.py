"""Client certificates as credentials: read from PEM, known by the SHA-256 of their DER form."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from postroad.errors import Refused


class Certificate(NamedTuple):
    pem: str  # this one certificate and nothing else
    fingerprint: str
    starts_at_us: int
    expires_at_us: int
    subject: str


def read(pem: str) -> Certificate | None:
    """Return the certificate in a PEM text; None unless it is exactly one certificate."""
    if "PRIVATE KEY" in pem:
        return None
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
        if len(found) != 1:
            return None
        der = found[0].public_bytes(Encoding.DER)
        starts_at_us, expires_at_us = _validity(found[0])
        subject = found[0].subject.rfc4514_string()
    except (ValueError, TypeError, x509.UnsupportedGeneralNameType):
        return None
    own_pem = found[0].public_bytes(Encoding.PEM).decode()
    return Certificate(own_pem, sha256(der).hexdigest(), starts_at_us, expires_at_us, subject)


def check_current(certificate: Certificate, now_us: int) -> None:
    """Refuse an expired certificate; one that is not yet valid is accepted."""
    if certificate.expires_at_us <= now_us:
        detail = f"The certificate of {certificate.subject} has expired; register its successor"
        raise Refused("certificate.expired", detail, pointer="/certificate")


def chain_expires_at_us(pem: bytes) -> int | None:
    """Return when the first certificate of a PEM file expires; None if there is none.

    Keys beside it are not looked at.
    """
    return next(iter(certificates_expire_at_us(pem)), None)


def certificates_expire_at_us(pem: bytes) -> list[int]:
    """Return when each certificate of a PEM file expires."""
    try:
        return [_validity(found)[1] for found in x509.load_pem_x509_certificates(pem)]
    except ValueError:
        return []


def _validity(certificate: x509.Certificate) -> tuple[int, int]:
    ends = (certificate.not_valid_before_utc, certificate.not_valid_after_utc)
    starts_at_us, expires_at_us = [int(end.timestamp() * 1_000_000) for end in ends]
    return starts_at_us, expires_at_us
