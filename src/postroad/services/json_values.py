"""Values in a JSON document, found by a path and replaced in place.

Rule: names keep their order and numbers their digits; only white space between values may be lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from postroad.core.codecs.json_syntax import decode
from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.core.routing.conditions.canonical_content import JsonNumber, json_text
from postroad.core.routing.paths.json_path import read_json_path, select_json
from postroad.core.routing.paths.xml_walk import TooManyNodes
from postroad.services.arguments import bad_argument

_ANY = msgspec.json.Decoder()
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


class Scalar:
    """A string, number, true, false or null of the document, and its replacement."""

    __slots__ = ("removed", "value")

    def __init__(self, value: object) -> None:
        self.value = value
        self.removed = False

    def replace(self, text: str | None) -> None:
        self.removed = text is None
        stays_number = isinstance(self.value, JsonNumber) and text is not None and _NUMBER.fullmatch(text)
        self.value = JsonNumber(text) if stays_number else text


class JsonValues:
    """The values that a path finds in one document; ``replaced`` may be called once."""

    def __init__(self, data: bytes, path: str) -> None:
        body = data.removeprefix(b"\xef\xbb\xbf")
        decode(body, _ANY, DEFAULT_LIMITS)  # checks depth, repeated names, and syntax that Python's own parser accepts
        self._root = _held(json.loads(body, parse_float=JsonNumber, parse_int=JsonNumber))
        try:
            found = select_json(self._root, read_json_path(path))
        except TooManyNodes:
            raise bad_argument("element", f"{path} selects too many values; use a more precise path") from None
        if not all(isinstance(one, Scalar) for one in found):
            raise bad_argument("element", f"{path} selects an object or array; select the member with the value")
        self._found: list[Any] = found

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(json_text(scalar.value) for scalar in self._found)

    def replace_values(self, replacements: Mapping[str, str | None]) -> bytes:
        """Return the document with replaced values; None removes the member, values without a replacement stay."""
        for scalar in self._found:
            text = json_text(scalar.value)
            if text in replacements:
                scalar.replace(replacements[text])
        if isinstance(self._root, Scalar) and self._root.removed:
            raise bad_argument("element", "A whole document cannot be removed; select a member")
        return _written(self._root).encode()


def _held(value: object) -> object:
    """Return the value with every scalar wrapped, so that equal ones can be distinguished."""
    if isinstance(value, dict):
        return {name: _held(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_held(member) for member in value]
    return Scalar(value)


def _written(value: object) -> str:
    if isinstance(value, dict):
        members = (f"{_text(name)}: {_written(member)}" for name, member in value.items() if not _is_removed(member))
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_written(member) for member in value if not _is_removed(member)) + "]"
    scalar = value.value if isinstance(value, Scalar) else value
    return str(scalar) if isinstance(scalar, JsonNumber) else _text(scalar)


def _is_removed(value: object) -> bool:
    return isinstance(value, Scalar) and value.removed


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
