"""Who signs and reads in the tests of CMS and AS2: identities with certificates of their own.

The clerk is the same at every run, so that golden files can be compared; the others are made when they are first asked for.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from postroad.core.codecs.cms import Identity

CONTENT = b"Content-Type: application/edi-x12\r\n\r\nISA*00*          *00*          *ZZ*MYBIZ          ~\r\n"
SIGNED_AT = datetime(2026, 11, 16, 9, 30, tzinfo=UTC)
FROM, UNTIL = datetime(2020, 1, 1, tzinfo=UTC), datetime(2099, 12, 31, tzinfo=UTC)
_P = int(
    "e5bef41f2b53ba1db44afff7a0d865f2439e3c9b61eff898a0fe91782405c1c9ea1575f59a02c5e710be669b128abbe7cd2f"
    "ed685c81c5e1014a6dcb94a476b80d674bbabf1da253d6c536c63dc9e350ddaa2e965ee5b95872d0291fd195e48d0a1216cd"
    "ed63182e9d86e8a7a0e52bc6fc88707ee77c3b0fc2be276afa975ae5",
    16,
)
_Q = int(
    "d939525b4e71f84861b36b44a6dbd31caa8d0318eb2adf25dd18c24585d48c00b97e69cc772dbf55d62b2eb0778d85f26bd0"
    "95df7e713d77883b3fbd75b8ce35a20bcf8a531d84fee4bd249a3942f04e141ce95e6b7ca63b73be6e8e2a20d445378299c3"
    "d3ca1b3dc47104b4ca010628b67b5333ab4d81ba5d3d4c20ceecdcf7",
    16,
)


def identity(
    name: str,
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey,
    *,
    serial: int = 1,
    since: datetime = FROM,
    until: datetime = UNTIL,
    key_identifier: bool = True,
) -> Identity:
    """With a certificate that it signed itself, as AS2 partners exchange them."""
    subject = x509.Name(
        [x509.NameAttribute(NameOID.COMMON_NAME, name), x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Postroad")]
    )
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(serial)
        .not_valid_before(since)
        .not_valid_after(until)
    )
    if key_identifier:
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    return Identity(certificate=builder.sign(key, hashes.SHA256()), key=key)


@cache
def clerk() -> Identity:
    """RSA, the same at every run."""
    public = rsa.RSAPublicNumbers(65537, _P * _Q)
    d = pow(65537, -1, (_P - 1) * (_Q - 1))
    numbers = rsa.RSAPrivateNumbers(_P, _Q, d, d % (_P - 1), d % (_Q - 1), pow(_Q, -1, _P), public)
    return identity("Clerk", numbers.private_key(), serial=7)


@cache
def partner() -> Identity:
    return identity("Partner", rsa.generate_private_key(public_exponent=65537, key_size=2048), serial=1 << 127)


@cache
def stranger() -> Identity:
    return identity("Stranger", rsa.generate_private_key(public_exponent=65537, key_size=2048))


@cache
def notary() -> Identity:
    """An elliptic curve in place of RSA."""
    return identity("Notary", ec.derive_private_key(123_456_789, ec.SECP256R1()), serial=3)
