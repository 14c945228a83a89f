"""JSON split without parsing its values: the members of an object as the bytes that were written.

``json_syntax`` checks a whole message for repeated names. Here most bytes are someone's document, in which names come
again and again and are its owner's business; so only the members of the event itself are walked through.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec
from msgspec import Raw

from postroad.core.codecs.json_nesting import nests_deeper
from postroad.core.codecs.json_syntax import fault_in
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.refusals import malformed, too_complex

_Shape = TypeVar("_Shape")

MAX_OTHERS = 10  # members of an event that are no extensions
_OBJECT = msgspec.json.Decoder(dict[str, Raw])
_ARRAY = msgspec.json.Decoder(list[Raw])
_NAME = msgspec.json.Decoder(str)
_BEFORE_VALUE = re.compile(rb'\s*+[{,]\s*+("[^"\\]*+")\s*+:\s*+')  # with a name in which nothing is escaped
_BEFORE_NAME = re.compile(rb'\s*+[{,]\s*+"')
# At most 100 escapes, because each one holds memory until the match ends.
_STRETCH = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+){0,100}', re.DOTALL)
_AFTER_NAME = re.compile(rb'"\s*+:\s*+')
_QUOTE = ord('"')


def object_members(body: bytes, pointer: str, limits: WireLimits) -> dict[str, Raw]:
    """The members of an object, in order; a name that occurs twice is refused."""
    members = _decoded(body, _OBJECT, pointer, limits)
    if len(members) > (most := limits.properties + MAX_OTHERS):
        raise too_complex(f"the event has {len(members)} members; at most {most} are allowed", pointer)
    _check_names(body, members, pointer)
    return members


def array_items(body: bytes, limits: WireLimits) -> list[bytes]:
    return [bytes(item) for item in _decoded(body, _ARRAY, "", limits)]


def _decoded(body: bytes, decoder: msgspec.json.Decoder[_Shape], pointer: str, limits: WireLimits) -> _Shape:
    check_size(body, limits)
    try:
        if not body.isascii():
            body.decode()
        decoded = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise malformed(f"this is not the JSON of a CloudEvent in UTF-8: {fault_in(body, fault)}", pointer) from None
    except RecursionError:
        raise _too_deep(limits, pointer) from None
    if nests_deeper(body, limits.json_depth):
        raise _too_deep(limits, pointer)
    return decoded


def _too_deep(limits: WireLimits, pointer: str) -> Exception:
    return too_complex(f"the JSON is nested more than {limits.json_depth} levels deep", pointer)


def _check_names(body: bytes, members: dict[str, Raw], pointer: str) -> None:
    """Walk from value to value. The last of two values with one name is known, so the walk fails at the first of them."""
    at, left = 0, set(members)
    while left:
        found = _BEFORE_VALUE.match(body, at)
        written, value_at = (found[1], found.end()) if found else _escaped_name(body, at)
        name = _NAME.decode(written)
        if name not in left or not body.startswith(value := bytes(members[name]), value_at):
            raise malformed("a name occurs twice in the event", f"{pointer}/{name[:40]}")
        left.remove(name)
        at = value_at + len(value)
    if body[at:].strip() not in (b"}", b"{}"):
        raise malformed("a name occurs twice in the event", pointer)


def _escaped_name(body: bytes, at: int) -> tuple[bytes, int]:
    """Return the next name of a well-formed object in its quotes, and where its value begins; an empty name if there is none."""
    before = _BEFORE_NAME.match(body, at)
    if before is None:
        return b'""', at
    end = before.end()
    while body[end] != _QUOTE and (stretch := _STRETCH.match(body, end)):
        end = stretch.end()
    after = _AFTER_NAME.match(body, end)
    return body[before.end() - 1 : end + 1], after.end() if after else end
