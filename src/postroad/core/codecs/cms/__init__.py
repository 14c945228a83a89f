"""CMS (RFC 5652): messages that are signed, encrypted or compressed, as S/MIME and AS2 carry them.

    sign, verify            SignedData, beside the content or around it
    encrypt, decrypt        EnvelopedData, and AuthEnvelopedData for ciphers that authenticate
    compress, decompress    CompressedData (RFC 3274)
    content_kind            which of them a message is

Others' messages are read as BER, ours are written as DER. The keys' own arithmetic is done by ``cryptography``; everything
around it is here, because no library reads what partners really send. Whatever is read is returned or refused with a code that
begins with ``cms.``; no input makes anything else happen.
"""

from __future__ import annotations

from postroad.core.codecs.cms.compressed_data import compress, decompress
from postroad.core.codecs.cms.content import content_kind
from postroad.core.codecs.cms.enveloped_data import decrypt, encrypt
from postroad.core.codecs.cms.identities import (
    Identity,
    identities_from_pem,
    identity_from_pem,
    identity_from_pkcs12,
)
from postroad.core.codecs.cms.signed_data import VerifiedSignature, sign, verify

__all__ = [
    "Identity",
    "VerifiedSignature",
    "compress",
    "content_kind",
    "decompress",
    "decrypt",
    "encrypt",
    "identities_from_pem",
    "identity_from_pem",
    "identity_from_pkcs12",
    "sign",
    "verify",
]
