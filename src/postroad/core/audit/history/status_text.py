"""Texts for people who search for a message: what it can be found by, and the status of each copy.

Rule: a text has the same sentences as the message's page, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.audit.history.copy_status import CopyStatus
from postroad.core.codecs.lexical import write_time


class SearchableValue(NamedTuple):
    """A value by which a message can be found."""

    name: str
    told: str


SEARCHABLE_VALUES = (
    SearchableValue("Session", "given with every answer to a post; 32 digits and letters from a to f"),
    SearchableValue("Token", "given to the receiver of the message, polled or pushed"),
    SearchableValue("Handle", "the sender's own reference, which its recipients may know too; also finds refused posts"),
    SearchableValue("Control number", "of an interchange, with or without leading zeros; of documents that came in one, too"),
    SearchableValue("Partner's reference", "the Message-ID of AS2, the reference of a document, the id of a batch"),
    SearchableValue(
        "Business key",
        "an order number, for instance: whatever a service declares as indexes in its profile, for messages posted since",
    ),
    SearchableValue("Service", "its GCID or its address"),
)  # fmt: skip
NOTHING_FOUND = "It matches no service that you may see, and no message that you sent or received."
SEARCH_HINT = (
    "Write it whole; capitals and small letters are the same. "
    "Business keys count for messages that were posted since they were declared."
)


def status_text(one: CopyStatus) -> str:
    """Return the status of one copy as sentences: where it is, since when, and what happens next."""
    return " ".join(_sentences(one))


def _sentences(one: CopyStatus) -> Iterator[str]:
    yield one.where
    if one.since_us:
        yield f"Since {write_time(one.since_us)}."
    if one.why:
        yield f"Reason: {one.why}" + ("" if one.why.endswith((".", "!", "?")) else ".")
    if one.next:
        yield f"{one.next.removesuffix('.')} at {write_time(one.next_us)}." if one.next_us else one.next
    if one.expires_us:
        yield f"It expires {write_time(one.expires_us)}."
