"""Message integrity check: a digest of what was sent, which the MDN returns as proof of receipt.

Rules: digests are named as ``hashlib`` has them inside (``sha256``) and as RFC 5751 has them on the wire (``sha-256``);
every spelling seen in the field is read. ``outgoing_message`` and ``incoming_message`` compute the digest over the same
bytes.
"""

from __future__ import annotations

import binascii
import hashlib
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import dataclass

from postroad.core.codecs.buffers import Buffer

DEFAULT = "sha1"  # default of RFC 4130
WRITTEN = {"sha1": "sha1", "sha256": "sha-256", "sha384": "sha-384", "sha512": "sha-512"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Mic:
    digest: bytes
    algorithm: str  # a name in WRITTEN, else as the partner wrote it; "" if missing

    def __str__(self) -> str:
        """Return the value of a Received-Content-MIC field."""
        return f"{b64encode(self.digest).decode()}, {micalg(self.algorithm)}"


def mic_over(pieces: Iterable[Buffer], algorithm: str) -> Mic:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return Mic(digest=digest.digest(), algorithm=algorithm)


def read_mic(value: str) -> Mic | None:
    """Parse Received-Content-MIC, possibly folded over several lines; None if it is not base64."""
    encoded, _, algorithm = value.partition(",")
    try:
        digest = binascii.a2b_base64("".join(encoded.split()).encode("ascii"), strict_mode=True)
    except (binascii.Error, ValueError):
        return None
    return Mic(digest=digest, algorithm=find_digest_name(algorithm) or algorithm.strip()) if digest else None


def find_digest_name(spelling: str) -> str:
    """Return the digest for a partner's spelling (``SHA-256``, ``sha256``, ``"sha1"`` …); "" if it is not supported."""
    plain = spelling.strip(" \t\"'").lower().replace("-", "").replace("_", "")
    return plain if plain in WRITTEN else ""


def micalg(algorithm: str) -> str:
    return WRITTEN.get(algorithm, algorithm)
