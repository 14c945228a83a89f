"""The digests that signatures may use, under the names that configurations use.

Rule: only these are supported. SHA-1 is read, because old products of partners still sign with it, and written only
when requested by name; MD5 is neither.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from cryptography.hazmat.primitives import hashes

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms import oids
from postroad.core.codecs.cms.ber import BerElement
from postroad.core.codecs.cms.der import NULL, element, sequence
from postroad.core.codecs.cms.refusals import unsupported


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    name: str
    oid: bytes
    hash: hashes.HashAlgorithm
    identifier: bytes  # its AlgorithmIdentifier: with NULL for SHA-1, without for the others, as RFC 5754 wants it

    def of(self, content: Iterable[Buffer]) -> bytes:
        running = hashlib.new(self.name, usedforsecurity=False)
        for piece in content:
            running.update(piece)
        return running.digest()


def _digest(name: str, oid: bytes, algorithm: hashes.HashAlgorithm) -> Digest:
    identifier = sequence(oid, element(NULL)) if name == "sha1" else sequence(oid)
    return Digest(name=name, oid=oid, hash=algorithm, identifier=identifier)


SHA1 = _digest("sha1", oids.SHA1, hashes.SHA1())  # noqa: S303 - to verify what old partners sign
SHA256 = _digest("sha256", oids.SHA256, hashes.SHA256())
DIGESTS = {
    digest.name: digest
    for digest in (
        SHA1,
        SHA256,
        _digest("sha384", oids.SHA384, hashes.SHA384()),
        _digest("sha512", oids.SHA512, hashes.SHA512()),
    )
}
_BY_OID = {digest.oid: digest for digest in DIGESTS.values()}


def find_digest(name: str) -> Digest:
    if name not in DIGESTS:
        raise unsupported(f"The digest {name[:40]!r} is not offered; choose one of {', '.join(DIGESTS)}")
    return DIGESTS[name]


def digest_in(identifier: BerElement) -> Digest:
    """The digest that an AlgorithmIdentifier names."""
    found = _BY_OID.get(identifier.fields().take("digest algorithm").oid())
    if found is None:
        raise unsupported(f"The message uses a digest that is not accepted; the sender may use {', '.join(DIGESTS)}")
    return found
