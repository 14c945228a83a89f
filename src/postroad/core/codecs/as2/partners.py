"""AS2 identities with their keys and certificates, and the terms of a partnership.

Rule: certificates are listed newest first. The newest is used for outgoing messages; all of them are tried on
incoming ones, so that a certificate can be rolled over while messages made with the old one are still in transit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cryptography.x509 import Certificate

from postroad.core.codecs.as2.mic import DEFAULT, WRITTEN
from postroad.core.codecs.cms import Identity
from postroad.errors import Misconfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class As2Identity:
    """One side of a partnership: ours with ``identities``, a partner's with ``certificates``; newest first."""

    name: str  # bare, without quotation marks
    identities: tuple[Identity, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    encryption_certificates: tuple[Certificate, ...] = ()  # if a partner uses different certificates for encryption

    @property
    def signer(self) -> Identity:
        if not self.identities:
            raise Misconfigured([f"The AS2 identity {self.name!r} has no key to sign with; add a key and certificate"])
        return self.identities[0]

    @property
    def recipient(self) -> Certificate:
        """Return the certificate with which messages to this partner are encrypted."""
        known = self.encryption_certificates or self.certificates
        if not known:
            raise Misconfigured([f"The AS2 partner {self.name!r} has no certificate to encrypt for; register one"])
        return known[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class PartnershipTerms:
    """What we send to a partner, and the minimum security that we accept from it."""

    sign: str = "sha256"  # the digest of our signatures; "" for none
    encrypt: str = "aes256-cbc"  # a cipher of the package ``cms``; "" for none
    compress: Literal["", "before", "after"] = ""  # before or after signing; the same without a signature
    pss: bool = False
    oaep: bool = False
    mdn: Literal["none", "sync", "async"] = "sync"
    mdn_signed: bool = True
    mdn_url: str = ""  # URL for the partner's asynchronous MDNs
    must_be_signed: bool = True
    must_be_encrypted: bool = False
    accepted_digests: tuple[str, ...] = tuple(WRITTEN)  # of the partner's signatures

    @property
    def mic_digest(self) -> str:
        """Return the digest of the MIC in the partner's MDN: that of the signature, or else the requested one."""
        return self.sign or ("sha256" if self.mdn_signed and self.mdn != "none" else DEFAULT)
