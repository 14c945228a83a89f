"""What of a message's header can stand beside it: in one field of HTTP, not more than clients and servers take.

Kept rule: a message that its receiver's software cannot even read would come again and again; so what is too long is left out,
and said like everything that has no place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from postroad.core.mediation.header_fields import written_argument, written_cookie, written_property
from postroad.core.model.message import Delivered

FIELD_MOST = 8_000  # characters; longer fields are refused by many programs, and longer heads by some

_Entry = TypeVar("_Entry")


def fitting(delivered: Delivered) -> tuple[Delivered, tuple[str, ...]]:
    """The delivery with what fits, and a sentence for each thing that does not."""
    properties, too_many = _fitting(delivered.properties, written_property)
    arguments, too_much = _fitting(delivered.arguments, written_argument)
    cookie = delivered.cookie
    is_long = cookie is not None and len(written_cookie(cookie)) > FIELD_MOST
    if not (too_many or too_much or is_long):
        return delivered, ()
    dropped = [f"the property {entry.name[:80]} is too long to stand beside the message" for entry in too_many]
    dropped += [f"the argument {entry.name[:80]} is too long to stand beside the message" for entry in too_much]
    dropped += ["the cookie is too long to stand beside the message"] if is_long else []
    fits = replace(delivered, properties=properties, arguments=arguments, cookie=None if is_long else cookie)
    return fits, tuple(dropped)


def _fitting(
    entries: Sequence[_Entry], written: Callable[[_Entry], str]
) -> tuple[tuple[_Entry, ...], tuple[_Entry, ...]]:
    """Those that fit into one field together, and the others."""
    kept: list[_Entry] = []
    others: list[_Entry] = []
    left = FIELD_MOST
    for entry in entries:
        length = len(written(entry)) + len(", ")
        (kept if length <= left else others).append(entry)
        left -= length if length <= left else 0
    return tuple(kept), tuple(others)
