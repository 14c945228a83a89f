"""API keys: ``pr_<id>_<secret>_<check>``.

The prefix and the checksum let a scanner recognise a leaked key without asking anyone; the id finds the credential, so that only
one hash has to be compared; the secret is 192 random bits, of which only a SHA-256 is kept (that much randomness needs no slow
hash). The key itself is shown once, when it is made.
"""

from __future__ import annotations

import re
from hashlib import sha256
from hmac import compare_digest
from typing import NamedTuple
from zlib import crc32

SHAPE = re.compile(r"pr_([0-9a-f]{16})_([0-9a-f]{48})_([0-9a-f]{8})\Z")
RANDOM_BYTES = 32


class ApiKey(NamedTuple):
    id: str
    text: str
    hash: str


def make(random_bytes: bytes) -> ApiKey:
    """A new key from 32 random bytes."""
    if len(random_bytes) != RANDOM_BYTES:
        raise ValueError(f"an API key is made of {RANDOM_BYTES} bytes")
    key_id, secret = random_bytes[:8].hex(), random_bytes[8:].hex()
    stem = f"pr_{key_id}_{secret}"
    text = f"{stem}_{crc32(stem.encode()):08x}"
    return ApiKey(key_id, text, _hash(text))


def key_id(text: str) -> str | None:
    """Return the ID of a key, or None if the checksum shows that it is not a key."""
    shape = SHAPE.match(text)
    if shape is None or int(shape[3], 16) != crc32(text.rpartition("_")[0].encode()):
        return None
    return shape[1]


def holds(text: str, expected_hash: str) -> bool:
    return compare_digest(_hash(text), expected_hash)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()
