"""What all are told who look for a message, on pages, on terminals and in programs: by what it is found, and where it is.

Kept rule: a text has the sentences of the page of the message, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.audit.whereabouts import Whereabouts
from postroad.core.codecs.lexical import write_time


class KnownBy(NamedTuple):
    """Something that somebody may know of a message."""

    name: str
    told: str


KNOWN_BY = (
    KnownBy("Session", "given with every answer to a post; 32 digits and letters from a to f"),
    KnownBy("Token", "given to whoever fetched the message, or was pushed it"),
    KnownBy("Handle", "the sender's own name for it, which its receivers may know too; refused posts are found by it as well"),
    KnownBy("Control number", "of an interchange, with or without leading zeros; of documents that came in one, too"),
    KnownBy("Partner's reference", "the Message-ID of AS2, the reference of a document in an interchange, the id of a batch"),
    KnownBy(
        "Business key",
        "an order number, for instance: whatever a service declares as indexes in its profile, for messages posted since",
    ),
    KnownBy("Service", "its GCID or its address"),
)  # fmt: skip
NOTHING = "It is no service that you may see, and no message that you sent or were sent is known by it."
HOW_TO_ASK = (
    "Write it whole; capitals and small letters are the same. "
    "Business keys count for messages that were posted since they were declared."
)


def whereabouts_text(one: Whereabouts) -> str:
    """Where one copy is, since when, what happens next and when, as sentences in a row."""
    return " ".join(_sentences(one))


def _sentences(one: Whereabouts) -> Iterator[str]:
    yield one.where
    if one.since_us:
        yield f"Since {write_time(one.since_us)}."
    if one.why:
        yield f"Reason: {one.why}" + ("" if one.why.endswith((".", "!", "?")) else ".")
    if one.next:
        yield f"{one.next.removesuffix('.')} at {write_time(one.next_us)}." if one.next_us else one.next
    if one.expires_us:
        yield f"It expires {write_time(one.expires_us)}."
