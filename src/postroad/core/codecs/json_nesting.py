"""Measures how deep JSON is nested by its brackets, and whether a document can be embedded in another one."""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw

_ANY = msgspec.json.Decoder(Raw)
_NEITHER = bytes(set(range(256)).difference(b'[{]}"'))
_STRING = re.compile(rb'"[^"]*+"?')  # one without its closing quote extends to the end
_TO_ROUND = bytes.maketrans(b"[{]}", b"(())")
_RUNS = re.compile(rb"\(+|\)+")
_OPENING = ord("(")
_TAKEN_AWAY = 8


def can_stand_inside(data: bytes, levels: int) -> bool:
    """Return True if the bytes can be embedded in a JSON document unchanged, and are nested no deeper than ``levels``."""
    try:
        data.decode()
        unchanged = bytes(_ANY.decode(data)) == data
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return unchanged and not nests_deeper(data, levels)


def nests_deeper(data: bytes, levels: int) -> bool:
    """Whether well-formed JSON is nested deeper than this.

    First the innermost brackets are taken away a few times, each time one level; what is left then are few long runs to count.
    """
    if data.count(b"[") + data.count(b"{") <= levels:
        return False
    brackets = _brackets(data)
    depth = min(levels, _TAKEN_AWAY)
    for _ in range(depth):
        brackets = brackets.replace(b"()", b"")
    for run in _RUNS.finditer(brackets):
        length = run.end() - run.start()
        depth += length if brackets[run.start()] == _OPENING else -length
        if depth > levels:
            return True
    return False


def _brackets(data: bytes) -> bytes:
    """Return the brackets outside strings, as round ones.

    Two quotes beside each other are removed wherever they are: what follows stays inside a string, or outside.
    """
    quotes_and_brackets = _without_escapes(data).translate(None, _NEITHER).replace(b'""', b"")
    return _STRING.sub(b"", quotes_and_brackets).translate(_TO_ROUND)


def _without_escapes(data: bytes) -> bytes:
    """Remove escaped backslashes and then escaped quotes, so that every quote left opens or closes a string."""
    return data.replace(b"\\\\", b"").replace(b'\\"', b"") if b'\\"' in data else data
