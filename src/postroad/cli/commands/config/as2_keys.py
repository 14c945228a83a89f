"""Keys for AS2 identities, each with a self-signed certificate, as partners exchange them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from postroad.core.codecs.cms import Identity

EXPONENT = 65_537
MAX_NAME = 64  # characters of a common name
BEFORE = timedelta(hours=1)  # clocks differ


class As2Key(NamedTuple):
    identity: Identity
    key_pem: str
    certificate_pem: str

    @property
    def fingerprint(self) -> str:
        return self.identity.certificate.fingerprint(hashes.SHA256()).hex()


def make_as2_key(name: str, days: int, bits: int = 2048) -> As2Key:
    """Make a new key with a certificate for signing and encrypting."""
    key = rsa.generate_private_key(public_exponent=EXPONENT, key_size=bits)
    certificate = _certificate(name, key, days)
    return As2Key(
        identity=Identity(certificate=certificate, key=key),
        key_pem=key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
        certificate_pem=certificate.public_bytes(Encoding.PEM).decode(),
    )


def _certificate(name: str, key: rsa.RSAPrivateKey, days: int) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:MAX_NAME])])
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BEFORE)
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_usage(), critical=True)
        .sign(key, hashes.SHA256())
    )


def _usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=True,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
