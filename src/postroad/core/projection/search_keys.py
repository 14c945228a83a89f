"""Search keys of a message besides its session ID: handle, Message-ID, control numbers, declared keys.

Rules: they follow from the entry alone. An index stores a small hash of each value and no text; matches are verified
against the entry itself, so two values with one hash are never confused. Values are compared without regard to case,
to the brackets of a Message-ID, and to leading zeros of a control number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import IntEnum
from zlib import crc32

from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.journal import MessagePosted, MessageRefused

MAX_KEY_CHARS = 200
REFERENCES = {
    "interchange.reference": "control number",
    "interchange.group": "control number",
    "document.reference": "reference",
    "batch.id": "batch",
}
ZERO_PADDED = ("interchange", "group")  # the numbers of members begin again in every interchange: they tell nothing


class ViewerRole(IntEnum):
    """The role of a viewer, which decides the search keys that the viewer may use."""

    ON_THE_WAY = 1  # is given the header
    RECEIVER = 2  # is given the documents as well
    SENDER = 3  # knows how the message came, too: that is between it and the network


def normalize_value(value: str) -> str:
    """Return a value in the form in which search keys are compared."""
    text = value.strip(" \t\r\n<>").casefold()[:MAX_KEY_CHARS]
    return (text.lstrip("0") or "0") if text[:1] == "0" and text.isdigit() else text


def search_key_hash(value: str) -> int:
    """Return the hash under which messages with this search value are indexed."""
    return crc32(normalize_value(value).encode("utf-8", "surrogatepass"))


def search_key_hashes(entry: MessagePosted | MessageRefused) -> Collection[int]:
    """Return the hashes of all search values of a message, each once."""
    if type(entry) is MessagePosted and (entry.search_keys or entry.arrival or entry.properties or entry.assembled):
        keys = {search_key_hash(value) for _, value in list_search_keys(entry)}
        return keys if entry.assembled is None else keys.union(_document_keys(entry.assembled))
    return (search_key_hash(entry.handle),) if entry.handle else ()


def document_key(series: str, name: str) -> int:
    """Return the hash for interchanges that hold a document with this name in this number series.

    People find messages by ``known_by``; this is for acknowledgments of partners, which name only documents.
    """
    sides = series.rpartition(":")[0]  # the same for all scopes
    return crc32(f"{normalize_value(name)}\0{sides}".encode("utf-8", "surrogatepass"))


def _document_keys(assembled: AssembledInterchange) -> Iterator[int]:
    if assembled.by_document and assembled.numbers:
        series = assembled.numbers[0].series
        for one in assembled.filed:
            yield from (document_key(series, name) for name in one.names)


def list_search_keys(
    entry: MessagePosted | MessageRefused, nearness: ViewerRole = ViewerRole.SENDER
) -> Iterator[tuple[str, str]]:
    """List the search keys of a message that a viewer in this role may use, as names and values.

    Services choose the names of their search keys: a word does not tell where a value comes from.
    """
    if entry.handle:
        yield "handle", entry.handle
    if isinstance(entry, MessageRefused):
        return
    if nearness >= ViewerRole.RECEIVER:
        yield from entry.search_keys
    if nearness >= ViewerRole.SENDER and entry.arrival is not None and entry.arrival.message_id:
        yield "Message-ID", entry.arrival.message_id
    for one in entry.properties:
        if one.name in REFERENCES:
            yield REFERENCES[one.name], one.value
    if entry.assembled is not None:
        for drawn in entry.assembled.numbers:
            if drawn.series.endswith(ZERO_PADDED):
                yield "control number", str(drawn.number)


def matching_search_keys(
    entry: MessagePosted | MessageRefused, value: str, nearness: ViewerRole = ViewerRole.SENDER
) -> tuple[str, ...]:
    """Return the names of the search keys that have this value; empty if only the hash matches."""
    return tuple(
        dict.fromkeys([name for name, known in list_search_keys(entry, nearness) if is_same_value(known, value)])
    )


def is_same_value(known: str, asked: str) -> bool:
    return normalize_value(known) == normalize_value(asked)
