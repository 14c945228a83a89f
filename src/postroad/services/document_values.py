"""The documents of a message that a service processes, and the values found in them by a path.

A path that begins with ``/`` is a path in XML documents, one that begins with ``$`` in JSON documents. The argument
``document`` selects a single document or attachment by its id; without it, every document of the matching kind is
used. Rule: an unchanged part stays the same part, and a changed one keeps its id and content type, but is always
written in UTF-8 and declared so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from postroad.core.codecs.parts import looks_like_json, looks_like_xml
from postroad.core.model.message import Delivered, Part
from postroad.core.routing.paths.json_path import read_json_path
from postroad.errors import Refused
from postroad.services.arguments import Arguments, bad_argument
from postroad.services.hosting.off_loop import run_off_loop
from postroad.services.json_values import JsonValues
from postroad.services.xml_values import XmlValues, parse_xml_path

_CHARSET = re.compile(r"""(;\s*charset\s*=\s*)(?!"?utf-8"?(?:[\s;]|\Z))(?:"[^"]*"|[^\s;"]+)""", re.IGNORECASE)


class DocumentValues(Protocol):
    """The values that a path finds in one document."""

    @property
    def values(self) -> tuple[str, ...]: ...

    def replace_values(self, replacements: Mapping[str, str | None]) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PartValues:
    """A part and the values found in it."""

    part: Part
    found: DocumentValues


def choose_parts(message: Delivered, document: str, fits: Callable[[Part], bool] = looks_like_xml) -> list[Part]:
    """Return the named part, or the matching documents of the body."""
    if not document:
        return [part for part in message.parts if not part.attachment and fits(part)]
    named = [part for part in message.parts if part.id == document]
    if not named:
        raise bad_argument("document", f"The message has no document {document[:80]!r} that this service may see")
    return named


async def find_part_values(message: Delivered, arguments: Arguments, path: str) -> list[PartValues]:
    """Return the selected documents with the values that the path finds in each."""
    check_path(path, arguments)
    parts = choose_parts(
        message, arguments.get("document"), looks_like_json if path.startswith("$") else looks_like_xml
    )
    walks = 1 if path.startswith("$") else max(1, parse_xml_path(path, arguments.namespaces).walks)
    return [
        PartValues(
            part=part, found=await run_off_loop(walks * len(part.data), _values, part, path, arguments.namespaces)
        )
        for part in parts
    ]


def check_path(path: str, arguments: Arguments) -> None:
    """Refuse a path that is not valid for any document."""
    if not path.startswith(("/", "$")):
        raise bad_argument("element", f"The path {path[:80]!r} begins neither with / (XML) nor with $ (JSON)")
    try:
        if path.startswith("$"):
            read_json_path(path)
        else:
            parse_xml_path(path, arguments.namespaces)
    except Refused as refusal:
        raise bad_argument("element", refusal.detail) from None


def list_values(looked: list[PartValues]) -> tuple[str, ...]:
    return tuple(value for one in looked for value in one.found.values)


async def replace_values(
    message: Delivered, looked: list[PartValues], replacements: Mapping[str, str | None]
) -> tuple[Part, ...] | None:
    """Return all parts of the message with values replaced; None if nothing changes."""
    changed: dict[str, Part] = {}
    for one in looked:
        if not replacements.keys().isdisjoint(one.found.values):
            data = await run_off_loop(len(one.part.data), one.found.replace_values, replacements)
            changed[one.part.id] = replace(one.part, data=data, content_type=set_utf8_charset(one.part.content_type))
    return tuple(changed.get(part.id, part) for part in message.parts) if changed else None


def set_utf8_charset(content_type: str) -> str:
    """Return the content type with its charset set to UTF-8, for rewritten documents."""
    return _CHARSET.sub(r"\1utf-8", content_type)


def _values(part: Part, path: str, namespaces: Mapping[str, str]) -> DocumentValues:
    try:
        return JsonValues(part.data, path) if path.startswith("$") else XmlValues(part.data, path, namespaces)
    except Refused as refusal:
        if refusal.code.startswith("wire."):
            detail = f"The document {part.id!r} cannot be read: {refusal.detail}"
            raise Refused(refusal.code, detail, pointer=refusal.pointer) from None
        raise
