"""Values of properties as JSON writes them: single ones, and the items of arrays and sequences.

The text of an array or a sequence is a JSON array of single values. Rule: each item keeps its type and its digits.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Raw, Struct

from postroad.core.codecs.refusals import malformed
from postroad.core.model.message import COLLECTIONS, Property, PropertyType

MAX_ITEMS = 100
KINDS_IN_WORDS = 'a string, a number, true, false, {"date": "…"}, an array of these or {"sequence": […]}'

Typed = tuple[PropertyType, str]


class _Marked(Struct, forbid_unknown_fields=True):
    """A value of a type that JSON has no notation for."""

    date: str | None = None
    sequence: Raw = Raw()


_MARKED = msgspec.json.Decoder(_Marked)
_STRING = msgspec.json.Decoder(str)
_ITEMS = msgspec.json.Decoder(list[Raw])
_NUMBER_BEGINS = frozenset((b"-", *[b"%d" % digit for digit in range(10)]))


def typed_value(raw: bytes, pointer: str) -> Typed:
    """Return the type and the text of a property's value."""
    try:
        if raw.startswith(b'"'):
            return PropertyType.STRING, _STRING.decode(raw)
        if raw.startswith(b"["):
            return PropertyType.ARRAY, raw.decode()
        if raw.startswith(b"{"):
            marked = _MARKED.decode(raw)
            sequence = bytes(marked.sequence).decode()
            if marked.date is not None and not sequence:
                return PropertyType.DATE, marked.date
            if sequence and marked.date is None:
                return PropertyType.SEQUENCE, sequence
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise malformed(f"the property's value cannot be read: {fault}", pointer) from None
    if raw in (b"true", b"false"):
        return PropertyType.BOOLEAN, raw.decode()
    if raw[:1] in _NUMBER_BEGINS:
        return PropertyType.NUMBER, raw.decode()
    raise malformed(f"a property is {KINDS_IN_WORDS}", pointer)


def read_items(text: str, pointer: str) -> list[Typed]:
    """Return the types and texts of the items of an array or a sequence."""
    try:
        raws = _ITEMS.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError) as fault:
        raise malformed(f"an array or a sequence is written as a JSON array: {fault}", pointer) from None
    if len(raws) > MAX_ITEMS:
        raise malformed(f"a property has {len(raws)} items; at most {MAX_ITEMS} are allowed", pointer)
    found = [typed_value(bytes(raw).strip(), pointer) for raw in raws]
    if any(kind in COLLECTIONS for kind, _ in found):
        raise malformed("an array or a sequence holds single values, not other arrays or sequences", pointer)
    return found


def write_value(kind: PropertyType, text: str) -> bytes:
    """Return a checked value as JSON."""
    match kind:
        case PropertyType.STRING:
            return msgspec.json.encode(text)
        case PropertyType.DATE:
            return msgspec.json.encode({"date": text})
        case PropertyType.SEQUENCE:
            return b'{"sequence":%s}' % text.encode()
    return text.encode()


def write_items(items: Iterable[Typed]) -> str:
    """Return the text of an array or a sequence of checked items."""
    return "[" + ",".join([write_value(kind, text).decode() for kind, text in items]) + "]"


def items_of(entry: Property) -> list[Typed]:
    """Return the values of a property: one, or those of the array or sequence that it is."""
    return read_items(entry.value, "/properties") if entry.type in COLLECTIONS else [(entry.type, entry.value)]
