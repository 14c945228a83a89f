"""Recognizes encoded posts whose journeys are exported only if they fail or are slow, without decoding them.

Rule: every answer is that of a decoded entry; what is not certain from a few bytes at fixed places is decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from postroad.core.telemetry.sampling import TRACE_RANGE

HEAD = b"\xdc\x00\x1f\xaemessage.posted\xcf"  # 31 fields, of which the last is the trace context; then the time
ID_HEAD = b"\xd9\x20"  # a text of 32 bytes
TIME = slice(len(HEAD), len(HEAD) + 8)
SESSION = slice(TIME.stop, TIME.stop + 34)
TRANSACTION = slice(SESSION.stop, SESSION.stop + 34)
SAMPLED_PART = slice(TRANSACTION.stop - 14, TRANSACTION.stop)  # the last 7 bytes of the ID, in hex
NOT_SAMPLED = (0, 2)  # the last byte of no context, or of one without state and not sampled


def build_unsampled_check(share: float) -> Callable[[bytes], bool]:
    """Return a check whether an encoded entry is the first post of a transaction that is in no sample.

    Its trace ID is then the transaction ID, and no other post is needed to judge its journeys.
    """
    limit = ceil(share * TRACE_RANGE)
    if limit >= TRACE_RANGE:
        return lambda facts: False
    first_outside = b"%014x" % limit

    def is_unsampled(facts: bytes) -> bool:
        return (
            facts.startswith(HEAD)
            and facts[SAMPLED_PART] >= first_outside
            and facts[-1] in NOT_SAMPLED
            and (session := facts[SESSION]) == facts[TRANSACTION]
            and session.startswith(ID_HEAD)
        )

    return is_unsampled


def read_post_time(facts: bytes) -> int:
    """Return the time of such a post, in µs."""
    return int.from_bytes(facts[TIME], "big")
