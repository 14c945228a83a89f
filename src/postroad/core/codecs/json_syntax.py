"""Strict JSON parsing: UTF-8, limited depth, no duplicate names, and errors with a JSON pointer.

msgspec parses JSON fast and strictly, but accepts duplicate names, does not check the UTF-8 of raw values, and
recurses. This module closes these gaps, at the cost of one search through the bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeVar

import msgspec

from postroad.core.codecs.json_nesting import nests_deeper
from postroad.core.codecs.lexical import check_size
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.refusals import malformed, too_complex

_Shape = TypeVar("_Shape")

UTF_8_MARK = (
    b"\xef\xbb\xbf"  # byte order mark that some clients write before JSON; readers may ignore it (RFC 8259, 8.1)
)

# A name follows a brace or comma. Nothing behind that is consumed, so that no name can hide behind another. Two patterns,
# since a search for one plain character is several times as fast as a search for one of two.
_FIRST_NAME, _NEXT_NAME = (re.compile(before + rb'(?=\s*+"([^"\\]*+)(?:"\s*+:|(\\)))') for before in (rb"\{", rb","))
_PLACE = re.compile(r"(.*) - at `(?:key in )?\$(.*)`\Z", re.DOTALL)
_ESCAPE = re.compile(rb"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?!u[dD][89a-fA-F]).|(\\u[dD][89a-fA-F]..)", re.DOTALL)
_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+|\.\.\.)\]")


class _Object(list[tuple[str, object]]):
    """A JSON object as the pairs that were written."""


def decode(
    body: bytes,
    decoder: msgspec.json.Decoder[_Shape],
    limits: WireLimits,
    count: Callable[[_Shape, WireLimits], None] | None = None,
) -> _Shape:
    """Decode the body into the decoder's type; refuses anything else. ``count`` limits it before its names are read."""
    check_size(body, limits)
    body = body.removeprefix(UTF_8_MARK)
    if nests_deeper(body, limits.json_depth):
        raise too_complex(f"the JSON is nested more than {limits.json_depth} levels deep")
    try:
        shape = decoder.decode(body)
        if not body.isascii():
            body.decode()
    except msgspec.ValidationError as fault:
        raise malformed(*_place(str(fault))) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise malformed(f"this is not JSON in UTF-8: {fault_in(body, fault)}") from None
    except RecursionError:
        raise too_complex(f"the JSON is nested more than {limits.json_depth} levels deep") from None
    if count is not None:
        count(shape, limits)
    _check_names(body)
    return shape


def fault_in(body: bytes, fault: Exception) -> str:
    """Describe a JSON error; the decoder reports an unpaired surrogate as truncated input."""
    half = next((found[1] for found in _ESCAPE.finditer(body) if found[1]), None)
    if half is None:
        return str(fault)
    return f"{half.decode('ascii', 'replace')} is an unpaired surrogate; write both halves, or remove it"


def _place(text: str) -> tuple[str, str]:
    """Return msgspec's error as a sentence and a JSON pointer."""
    found = _PLACE.fullmatch(text)
    if not found:
        return text, ""
    steps = (name or number for name, number in _STEP.findall(found.group(2)))
    return found.group(1), "".join("/" + step.replace("...", "*") for step in steps)


def _check_names(body: bytes) -> None:
    """Refuse an object with a duplicate name. In most bodies no name occurs twice, which one search shows.

    The search stops at a backslash and reports it, because only a decoder can read an escaped name.
    """
    names = _FIRST_NAME.findall(body) + _NEXT_NAME.findall(body)
    if len(set(names)) < len(names) or any(escaped for _, escaped in names):
        _check_object(json.loads(body, object_pairs_hook=_Object, parse_int=str, parse_float=str), "")


def _check_object(value: object, pointer: str) -> None:
    if isinstance(value, _Object):
        seen: set[str] = set()
        for name, inner in value:
            place = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
            if name in seen:
                raise malformed(f"the name {name[:80]!r} occurs twice in one object", place)
            seen.add(name)
            if name != "json":  # documents are not checked
                _check_object(inner, place)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _check_object(inner, f"{pointer}/{number}")
