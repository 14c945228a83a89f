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
    """Return a GCID made of 8 random bytes."""
    if len(random_bytes) != 8:
        raise ValueError("a GCID is made of 8 bytes")
    return random_bytes.hex()


def session(now_us: int, random_bytes: bytes) -> str:
    """Return a session ID: 6 bytes of milliseconds, then 10 random bytes, so that IDs sort by time."""
    return ((now_us // 1000).to_bytes(6, "big") + random_bytes).hex()


def short(now_us: int, random_bytes: bytes) -> str:
    """Return an ID for a batch or a support request: 6 bytes of milliseconds, then 4 random bytes; it sorts by time."""
    return ((now_us // 1000).to_bytes(6, "big") + random_bytes[:4]).hex()


def next_batch(batch_id: str) -> str:
    """Return the ID right after the given one; the first possible ID if it is empty."""
    return f"{int(batch_id or '0', 16) + 1:020x}"


def check_name(name: str, what: str) -> str:
    """Return the name if it is allowed for an organization or a service; raises Refused if not."""
    if not NAME.match(name):
        raise Refused(
            "name.invalid",
            f"{what} name {name[:80]!r} is not allowed: use 1 to 64 letters, digits, spaces or . & ( ) + - _, "
            "starting with a letter or digit and without a slash",
        )
    return name


def delivery_number(seq: int, ordinal: int) -> int:
    """Return the number of the ``ordinal``-th delivery of journal entry ``seq``."""
    return seq << 16 | ordinal


def delivery_entry(number: int) -> int:
    """Return the number of the journal entry that queued a delivery."""
    return number >> 16


def delivery_origin(number: int) -> tuple[int, int]:
    """Return the journal entry and the ordinal that a delivery number contains."""
    return number >> 16, number & 0xFFFF


def token(number: int, session_id: str, recipient: str, key: bytes) -> str:
    """Return the unguessable token of a delivery. It is derived, so neither journal nor index stores a secret."""
    proof = blake2b(f"{number:x}.{session_id}.{recipient}".encode(), key=key, digest_size=16).hexdigest()
    return f"{number:x}.{proof}"


def token_number(text: str) -> int | None:
    """Return the delivery number in a token, or None if it is not a token."""
    shape = TOKEN.match(text)
    return int(shape[1], 16) if shape is not None else None


def key_hash(*parts: str) -> int:
    """Return a signed 64-bit hash for a unique key (handle, idempotency key): small in memory and in an index."""
    return int.from_bytes(blake2b("\x00".join(parts).encode(), digest_size=8).digest(), "big", signed=True)
