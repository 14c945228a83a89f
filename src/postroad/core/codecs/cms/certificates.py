"""How messages identify a certificate: by issuer and serial number, or by key identifier.

What is asked of a certificate again and again (its marks, its key, its DER form) is read once and remembered.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import Encoding

from postroad.core.codecs.cms.ber import BerElement, canonical, read
from postroad.core.codecs.cms.der import INTEGER, SEQUENCE, context_tag, sequence
from postroad.core.codecs.cms.refusals import malformed, unsupported

KEY_IDENTIFIER = context_tag(0, constructed=False)
_LONGEST_NAME = 4096  # of a name that has to be put together before it can be compared


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateMarks:
    der: bytes
    issuer_and_serial: bytes
    key_identifier: bytes
    key: CertificatePublicKeyTypes

    def are_named_by(self, mark: BerElement) -> bool:
        """Whether a signer or recipient that is named so is this certificate's owner."""
        if mark.tag == SEQUENCE:
            return self._issued(mark)
        if mark.tag & ~0x20 == KEY_IDENTIFIER:
            return mark.stop - mark.start <= _LONGEST_NAME and mark.octets() == self.key_identifier
        raise malformed("A certificate is named by neither issuer and serial number nor key identifier", mark.begin)

    def _issued(self, mark: BerElement) -> bool:
        """Written as in the certificate, as good as always; otherwise both have to be the same in DER."""
        if mark.found is None:
            return mark.raw() == self.issuer_and_serial
        return mark.stop - mark.start <= _LONGEST_NAME and canonical(mark) == self.issuer_and_serial


@lru_cache(maxsize=4096)
def marks_of(certificate: x509.Certificate) -> CertificateMarks:
    fields = read(certificate.tbs_certificate_bytes).fields()
    fields.maybe(context_tag(0))  # the version
    serial = fields.take("serial number", INTEGER)
    fields.take("signature algorithm")
    issuer = fields.take("issuer", SEQUENCE)
    return CertificateMarks(
        der=certificate.public_bytes(Encoding.DER),
        issuer_and_serial=sequence(bytes(issuer.raw()), bytes(serial.raw())),
        key_identifier=_key_identifier(certificate),
        key=_key(certificate),
    )


def _key(certificate: x509.Certificate) -> CertificatePublicKeyTypes:
    try:
        return certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise unsupported("A registered certificate has an unsupported key; use RSA or an elliptic curve") from None


def _key_identifier(certificate: x509.Certificate) -> bytes:
    """The key identifier in the certificate, or the usual digest of its key."""
    try:
        return certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
    except (x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType, ValueError):
        return x509.SubjectKeyIdentifier.from_public_key(_key(certificate)).digest
