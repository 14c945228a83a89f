"""Names and numbers that identify things in the network.

A service has a GCID (8 random bytes in hex) and an address ``Organization/Service``; either names it anywhere. A
session identifies a posted message and sorts by time. A delivery number identifies one copy on its way to one
service, and a token is that number with a proof that only its receiver has. Random bytes and time are arguments: core
draws neither.
"""

from __future__ import annotations

import re
from hashlib import blake2b

from postroad.errors import Refused

GCID = re.compile(r"[0-9a-f]{16}\Z")
NAME = re.compile(
    r"[^\W_][\w .&()+-]{0,62}[\w.)]\Z|[^\W_]\Z"
)  # organizations and services: readable, no slash, no edge spaces
SESSION = re.compile(r"[0-9a-f]{32}\Z")
TOKEN = re.compile(r"([0-7]?[0-9a-f]{1,15})\.[0-9a-f]{32}\Z")  # below 2 ** 63, which every store can hold
BATCH = re.compile(r"[0-9a-f]{20}\Z")
RECIPIENTS_MAX = 1 << 16  # a delivery number keeps its ordinal in 16 bits


def gcid(random_bytes: bytes) -> str:
    """A GCID from 8 random bytes."""
    if len(random_bytes) != 8:
        raise ValueError("a GCID is made of 8 bytes")
    return random_bytes.hex()


def session(now_us: int, random_bytes: bytes) -> str:
    """A session id: 6 bytes of milliseconds, then 10 random ones, so that ids sort by time and indexes grow at the end."""
    return ((now_us // 1000).to_bytes(6, "big") + random_bytes).hex()


def short(now_us: int, random_bytes: bytes) -> str:
    """The id of a batch or a support request: 6 bytes of milliseconds, then 4 random ones; it can be typed, and sorts by time."""
    return ((now_us // 1000).to_bytes(6, "big") + random_bytes[:4]).hex()


def next_batch(batch_id: str) -> str:
    """Return the id right after another one; for an empty one, the first of all."""
    return f"{int(batch_id or '0', 16) + 1:020x}"


def check_name(name: str, what: str) -> str:
    """The name itself when it may name an organization or a service."""
    if not NAME.match(name):
        raise Refused(
            "name.invalid",
            f"{what} name {name[:80]!r} is not allowed: use 1 to 64 letters, digits, spaces or . & ( ) + - _, "
            "starting with a letter or digit and without a slash",
        )
    return name


def delivery_number(seq: int, ordinal: int) -> int:
    """The number of the ``ordinal``-th delivery caused by journal entry ``seq``."""
    return seq << 16 | ordinal


def delivery_origin(number: int) -> tuple[int, int]:
    """Journal entry and ordinal a delivery number was made of."""
    return number >> 16, number & 0xFFFF


def token(number: int, session_id: str, recipient: str, key: bytes) -> str:
    """The unguessable token of a delivery. It is derived, so that neither journal nor index ever stores a secret."""
    proof = blake2b(f"{number:x}.{session_id}.{recipient}".encode(), key=key, digest_size=16).hexdigest()
    return f"{number:x}.{proof}"


def token_number(text: str) -> int | None:
    """Return the delivery number in a token, or None if it is not a token."""
    shape = TOKEN.match(text)
    return int(shape[1], 16) if shape is not None else None


def key_hash(*parts: str) -> int:
    """A signed 64-bit hash for unique keys (handles, idempotency keys): small in memory, and cheap in an index."""
    return int.from_bytes(blake2b("\x00".join(parts).encode(), digest_size=8).digest(), "big", signed=True)
