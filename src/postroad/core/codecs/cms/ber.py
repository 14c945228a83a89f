"""Reads BER, as other products write it: definite and indefinite lengths, strings in pieces.

Rules: a length is checked against the available bytes before anything is extracted. Elements are views, so nothing is
copied. Every element's header is read once, at any depth, so time is linear. Depth and number of elements are
limited.
"""

from __future__ import annotations

from msgspec import Struct

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.cms.der import (
    CONSTRUCTED,
    INTEGER,
    NULL,
    OCTET_STRING,
    OID,
    SEQUENCE,
    SET,
    UTC_TIME,
    element,
    header,
)
from postroad.core.codecs.cms.refusals import malformed, too_complex

MAX_DEPTH = 32
MAX_ELEMENTS = 100_000
_INDEFINITE = 0x80
_LONGEST_LENGTH = 8  # octets of a length
_LONG_TAG = 0x1F
# With a length in one octet these are nearly all there is; they are read where they stand, all others by the general reader.
_PLAIN_TAGS = frozenset((INTEGER, OCTET_STRING, NULL, OID, UTC_TIME, SEQUENCE, SET))
_LEFT_BEHIND, _MAX_LEFT_BEHIND = b"\r\n\0 \t", 64  # what transports append to a message, and how much of it


class BerSource:
    """The bytes being read, and the number of elements found so far."""

    __slots__ = ("elements", "octets")

    def __init__(self, buffer: Buffer) -> None:
        self.octets = memoryview(buffer).cast("B") if isinstance(buffer, memoryview) else memoryview(buffer)
        self.elements = 0


class BerElement(Struct, frozen=True, gc=False):
    """One element: its header begins at ``begin``, its content is ``start`` to ``stop``, and the next one follows at ``end``."""

    source: BerSource
    tag: int
    begin: int
    start: int
    stop: int
    end: int
    depth: int
    found: tuple[BerElement, ...] | None = None  # children that had to be read to find the end

    def raw(self) -> memoryview:
        return self.source.octets[self.begin : self.end]

    def content(self) -> memoryview:
        return self.source.octets[self.start : self.stop]

    def children(self) -> tuple[BerElement, ...]:
        if self.found is not None:
            return self.found
        if not self.tag & CONSTRUCTED:
            raise malformed("A structure is expected where a plain value is", self.begin)
        return self._read_children()

    def _read_children(self) -> tuple[BerElement, ...]:
        source, stop, depth = self.source, self.stop, self.depth + 1
        octets = source.octets
        read: list[BerElement] = []
        at = self.start
        allowed = depth <= MAX_DEPTH
        while at < stop:
            end = at + 2 + octets[at + 1] if at + 2 <= stop and octets[at + 1] < _INDEFINITE else 0
            if at < end <= stop and octets[at] in _PLAIN_TAGS and allowed and source.elements < MAX_ELEMENTS:
                source.elements += 1
                found = BerElement(
                    source=source, tag=octets[at], begin=at, start=at + 2, stop=end, end=end, depth=depth
                )
            else:
                found = _read(source, at, stop, depth)
            read.append(found)
            at = found.end
        return tuple(read)

    def only_child(self) -> BerElement:
        children = self.children()
        if len(children) != 1:
            raise malformed(f"Exactly one element is expected here, not {len(children)}", self.begin)
        return children[0]

    def fields(self) -> BerFields:
        return BerFields(self)

    def pieces(self) -> list[memoryview]:
        """The octets of a string, which may be cut into pieces and those into pieces again."""
        if not self.tag & CONSTRUCTED:
            return [self.content()]
        found: list[memoryview] = []
        for child in self.children():
            found += child.string("piece of a string").pieces()
        return found

    def string(self, what: str) -> BerElement:
        """Itself, when it is a string."""
        if self.tag & ~CONSTRUCTED != OCTET_STRING:
            raise malformed(f"The {what} is not a string", self.begin)
        return self

    def octets(self) -> bytes:
        if not self.tag & CONSTRUCTED:
            return bytes(self.content())
        return b"".join(self.pieces())

    def integer(self) -> int:
        if self.tag != INTEGER or not self.start < self.stop <= self.start + 8:
            raise malformed("A small number is expected here", self.begin)
        return int.from_bytes(self.content(), "big", signed=True)

    def oid(self) -> bytes:
        if self.tag != OID:
            raise malformed("An object identifier is expected here", self.begin)
        return bytes(self.raw())


class BerFields:
    """The members of a structure, taken one after the other."""

    __slots__ = ("_members", "_next", "_owner")

    def __init__(self, owner: BerElement) -> None:
        self._owner = owner
        self._members = owner.children()
        self._next = 0

    def take(self, what: str, *tags: int) -> BerElement:
        """The next member, which must be there and have one of the tags (any, when none is named)."""
        if self._next == len(self._members):
            raise malformed(f"The {what} is missing", self._owner.end)
        member = self._members[self._next]
        if tags and member.tag not in tags:
            raise malformed(f"The {what} is expected here", member.begin)
        self._next += 1
        return member

    def maybe(self, *tags: int) -> BerElement | None:
        if self._next < len(self._members) and self._members[self._next].tag in tags:
            self._next += 1
            return self._members[self._next - 1]
        return None

    def end(self) -> None:
        if self._next < len(self._members):
            raise malformed("There is unexpected data here", self._members[self._next].begin)


def read(buffer: Buffer) -> BerElement:
    """The one element that the buffer holds."""
    source = BerSource(buffer)
    found = _read(source, 0, len(source.octets), 0)
    rest = source.octets[found.end :]
    if len(rest) > _MAX_LEFT_BEHIND or bytes(rest).strip(_LEFT_BEHIND):
        raise malformed("Something follows the end of the message", found.end)
    return found


def first_inside(buffer: Buffer) -> BerElement:
    """The first child of the one element, without looking any further."""
    source = BerSource(buffer)
    tag, start, length = _header(source, 0, len(source.octets))
    if not tag & CONSTRUCTED:
        raise malformed("A structure is expected at the beginning", 0)
    return _read(source, start, len(source.octets) if length is None else start + length, 1)


def canonical(found: BerElement) -> bytes:
    """Return the element in DER, as signatures require it; only for small elements."""
    if found.tag & ~CONSTRUCTED == OCTET_STRING:
        return element(OCTET_STRING, found.octets())
    if not found.tag & CONSTRUCTED:
        return header(found.tag, found.stop - found.start) + bytes(found.content())
    members = [canonical(child) for child in found.children()]
    return element(found.tag, *(sorted(members) if found.tag == SET else members))


def _header(source: BerSource, begin: int, limit: int) -> tuple[int, int, int | None]:
    """Return the tag, the start of the content, and its length; None if an end mark terminates it."""
    source.elements += 1
    if source.elements > MAX_ELEMENTS:
        raise too_complex(f"The message has more than {MAX_ELEMENTS} elements")
    octets = source.octets
    if begin + 2 > limit:
        raise malformed("The message is truncated", limit)
    tag, length, start = octets[begin], octets[begin + 1], begin + 2
    if tag & _LONG_TAG == _LONG_TAG or not tag:
        raise malformed(f"CMS messages have no element of type {tag:#04x}", begin)
    if length == _INDEFINITE:
        return tag, start, None
    if length > _INDEFINITE:
        size = length & 0x7F
        if size > _LONGEST_LENGTH or start + size > limit:
            raise malformed("A length is not valid", begin)
        length, start = int.from_bytes(octets[start : start + size], "big"), start + size
    if start + length > limit:
        raise malformed(f"An element specifies {length} bytes, more than the message has", begin)
    return tag, start, length


def _read(source: BerSource, begin: int, limit: int, depth: int) -> BerElement:
    if depth > MAX_DEPTH:
        raise too_complex(f"The message is nested deeper than {MAX_DEPTH} levels")
    tag, start, length = _header(source, begin, limit)
    if length is not None:
        return BerElement(
            source=source, tag=tag, begin=begin, start=start, stop=start + length, end=start + length, depth=depth
        )
    if not tag & CONSTRUCTED:
        raise malformed("A plain value has no length", begin)
    found, stop = _until_end_mark(source, start, limit, depth + 1)
    return BerElement(
        source=source, tag=tag, begin=begin, start=start, stop=stop, end=stop + 2, depth=depth, found=found
    )


def _until_end_mark(source: BerSource, at: int, limit: int, depth: int) -> tuple[tuple[BerElement, ...], int]:
    found: list[BerElement] = []
    octets = source.octets
    while at + 2 > limit or octets[at] or octets[at + 1]:
        found.append(_read(source, at, limit, depth))
        at = found[-1].end
    return tuple(found), at
