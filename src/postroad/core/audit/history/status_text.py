"""The status of messages and services in words: of each copy for people who search, and of a service by its role.

Rule: a text has the same sentences as the message's page, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.audit.history.copy_status import CopyStatus
from postroad.core.codecs.lexical import write_time
from postroad.core.model.history import Stop
from postroad.core.model.rule import RuleRole


class SearchableValue(NamedTuple):
    """A value by which a message can be found."""

    name: str
    told: str


SEARCHABLE_VALUES = (
    SearchableValue("Session ID", "returned for every post; 32 hexadecimal digits"),
    SearchableValue("Token", "sent to the recipient with each delivery"),
    SearchableValue("Handle", "the sender's own reference, which recipients may know too; also finds refused posts"),
    SearchableValue("Control number", "of an interchange or of a document in one, with or without leading zeros"),
    SearchableValue("Partner's reference", "the AS2 Message-ID, the reference of a document, or the ID of a batch"),
    SearchableValue(
        "Search key",
        "such as an order number: a value that a service declares under indexes in its profile",
    ),
    SearchableValue("Service", "its GCID or address"),
)  # fmt: skip
NOTHING_FOUND = "No message that you sent or received matches, and no service that you may see."
SEARCH_HINT = (
    "Enter the whole value; upper and lower case are equal. "
    "Declared search keys find messages posted after the declaration."
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


WAITING, INVOKED, RETURNED = "waiting", "invoked", "returned"
HANDED_OUT, RECEIVED, ANSWERED = "handed out", "received", "answered"


def role_of(stop: Stop) -> RuleRole:
    """Return the role of the service at a stop.

    An in-transit service is invoked and returns the message; a recipient receives it, and answers it where it is a request.
    """
    return RuleRole.IN_TRANSIT if stop.in_transit else RuleRole.RECIPIENT


def status_of(stop: Stop) -> str:
    """Return the status of the service at a stop, by its role; a final state other than delivered is the status itself."""
    moves = [event.what for event in stop.events]
    if stop.state == "queued":
        is_out = bool(moves) and moves[-1] == HANDED_OUT
        return (INVOKED if stop.in_transit else HANDED_OUT) if is_out else WAITING
    if stop.state != "delivered":
        return stop.state
    if stop.in_transit:
        return RETURNED
    return ANSWERED if ANSWERED in moves else RECEIVED
