"""The W3C trace context of a message: read strictly, stored as bytes, and replaced for receivers that may not know the sender.

Rule: a context that is not valid is ignored, never an error of the message. Rule: a receiver that may not know the
sender gets a context made of the transaction ID that it sees, since a sender could be recognized by its own.
"""

from __future__ import annotations

import re
from binascii import unhexlify
from hashlib import blake2b
from typing import NamedTuple

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
SAMPLED = 0x01
KNOWN_FLAGS = 0x03  # sampled, and random (level 2); a sender clears all others
ID_BYTES, SPAN_BYTES = 16, 8
STATE_FROM = ID_BYTES + SPAN_BYTES + 1
MAX_STATE_CHARS = 512
MAX_STATE_MEMBERS = 32
PLAIN_CHARS = 55  # of a ``traceparent`` of the current version

_CURRENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_PLAIN = re.compile(rb"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-0[0-3]").fullmatch  # stored as it is
_LATER = re.compile(r"(?!00|ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-[!-~]*)?")
_MEMBER = re.compile(
    r"([a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})"
    r"=[ -+\--<>-~]{0,255}[!-+\--<>-~]"
)
_NO_ID, _NO_SPAN = bytes(ID_BYTES), bytes(SPAN_BYTES)


class TraceContext(NamedTuple):
    """A trace context that was read from an entry."""

    trace_id: bytes
    span_id: bytes
    sampled: bool
    traceparent: str
    tracestate: str


def pack_context(traceparent: str, tracestate: str = "") -> bytes:
    """Return the context as an entry stores it: 25 bytes and the state; empty if ``traceparent`` is not valid."""
    found = _CURRENT.fullmatch(traceparent) or _LATER.fullmatch(traceparent)
    if found is None:
        return b""
    head = bytes.fromhex(found[1] + found[2] + found[3])
    if head.startswith(_NO_ID) or head.startswith(_NO_SPAN, ID_BYTES):
        return b""
    if head[-1] > KNOWN_FLAGS:
        head = head[:-1] + bytes((head[-1] & KNOWN_FLAGS,))
    return head + check_state(tracestate).encode() if tracestate else head


def pack_plain(traceparent: bytes) -> bytes:
    """Return what ``pack_context`` does for a usual ``traceparent``, in less time; empty for any other."""
    if _PLAIN(traceparent) is None:
        return b""
    return unhexlify(traceparent[3:35] + traceparent[36:52] + traceparent[53:])


def check_state(tracestate: str) -> str:
    """Return the ``tracestate`` without surplus spaces; empty if any of its members is not valid."""
    if len(tracestate) > MAX_STATE_CHARS:
        return ""
    members = [member.strip(" \t") for member in tracestate.split(",")]
    members = [member for member in members if member]
    keys = {found[1] for member in members if (found := _MEMBER.fullmatch(member))}
    return ",".join(members) if len(keys) == len(members) <= MAX_STATE_MEMBERS else ""


def unpack_context(stored: bytes) -> TraceContext | None:
    """Return the context that an entry stores, or None if it has none."""
    if len(stored) < STATE_FROM:
        return None
    trace_id, span_id, flags = stored[:ID_BYTES], stored[ID_BYTES : STATE_FROM - 1], stored[STATE_FROM - 1]
    text = format_traceparent(trace_id, span_id, flags)
    return TraceContext(trace_id, span_id, bool(flags & SAMPLED), text, stored[STATE_FROM:].decode("ascii"))


def format_traceparent(trace_id: bytes, span_id: bytes, flags: int) -> str:
    return f"00-{trace_id.hex()}-{span_id.hex()}-{flags:02x}"


def hide_context(stored: bytes, transaction: str) -> str:
    """Return the ``traceparent`` for a receiver that may not know the sender, made of the transaction ID that it sees.

    Of the sender's context, only the flag that it is sampled is kept; its state is dropped.
    """
    span_id = blake2b(transaction.encode(), digest_size=SPAN_BYTES, person=b"veiled span").digest()
    return format_traceparent(bytes.fromhex(transaction), span_id, stored[STATE_FROM - 1] & SAMPLED)
