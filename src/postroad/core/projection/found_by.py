"""What a message is known by, apart from its session: its handle, what its partner calls it, control numbers, business keys.

Kept rules: it follows from the entry alone. An index keeps a small hash of each value and no text; the entry itself is asked
whether it is really known by what was looked for, so two values with one hash are never taken for each other. Values are compared
without regard to case, to the brackets of a Message-ID, and to the zeros that a control number is filled up with.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import IntEnum
from zlib import crc32

from postroad.core.model.interchange import Assembled
from postroad.core.model.journal import MessagePosted, MessageRefused

CHARS_MOST = 200
REFERENCES = {
    "interchange.reference": "control number",
    "interchange.group": "control number",
    "document.reference": "reference",
    "batch.id": "batch",
}
COUNTED = ("interchange", "group")  # the numbers of members begin anew in every interchange: they tell nothing


class Nearness(IntEnum):
    """How near somebody is to a message, and so by what they may know it."""

    ON_THE_WAY = 1  # is given the header
    RECEIVER = 2  # is given the documents as well
    SENDER = 3  # knows how the message came, too: that is between it and the network


def normal(value: str) -> str:
    """The form in which values are compared."""
    text = value.strip(" \t\r\n<>").casefold()[:CHARS_MOST]
    return (text.lstrip("0") or "0") if text[:1] == "0" and text.isdigit() else text


def found_key(value: str) -> int:
    """The hash under which messages that are known by this value are kept."""
    return crc32(normal(value).encode("utf-8", "surrogatepass"))


def found_keys(entry: MessagePosted | MessageRefused) -> Collection[int]:
    """The hashes of everything that the message is known by, each once."""
    if type(entry) is MessagePosted and (entry.found_by or entry.came or entry.properties or entry.assembled):
        keys = {found_key(value) for _, value in known_by(entry)}
        return keys if entry.assembled is None else keys.union(_document_keys(entry.assembled))
    return (found_key(entry.handle),) if entry.handle else ()


def document_key(series: str, name: str) -> int:
    """The hash under which interchanges are kept that hold a document of this name; ``series`` is one of theirs.

    People find messages by what is in ``known_by``; this is for the answers of partners, which name documents alone."""
    sides = series.rpartition(":")[0]  # the same for all scopes
    return crc32(f"{normal(name)}\0{sides}".encode("utf-8", "surrogatepass"))


def _document_keys(assembled: Assembled) -> Iterator[int]:
    if assembled.by_document and assembled.numbers:
        series = assembled.numbers[0].series
        for one in assembled.filed:
            yield from (document_key(series, name) for name in one.names)


def known_by(entry: MessagePosted | MessageRefused, nearness: Nearness = Nearness.SENDER) -> Iterator[tuple[str, str]]:
    """What the message is known by to somebody so near to it: in a word, and the value.

    Services name their business keys as they like: a word does not tell where a value comes from.
    """
    if entry.handle:
        yield "handle", entry.handle
    if isinstance(entry, MessageRefused):
        return
    if nearness >= Nearness.RECEIVER:
        yield from entry.found_by
    if nearness >= Nearness.SENDER and entry.came is not None and entry.came.message_id:
        yield "Message-ID", entry.came.message_id
    for one in entry.properties:
        if one.name in REFERENCES:
            yield REFERENCES[one.name], one.value
    if entry.assembled is not None:
        for drawn in entry.assembled.numbers:
            if drawn.series.endswith(COUNTED):
                yield "control number", str(drawn.number)


def is_known_by(
    entry: MessagePosted | MessageRefused, value: str, nearness: Nearness = Nearness.SENDER
) -> tuple[str, ...]:
    """In which words the message is known by this value; none where only the hash is the same."""
    return tuple(dict.fromkeys([name for name, known in known_by(entry, nearness) if is_same(known, value)]))


def is_same(known: str, asked: str) -> bool:
    return normal(known) == normal(asked)
