"""The documents of a message that a service is asked to work on, and the values in them that a path names.

A path that begins with ``/`` is one into XML documents, one that begins with ``$`` into JSON documents. The argument
``document`` chooses a single document or attachment by its id; without it every document of the fitting kind is meant. Kept
rule: a part that is not changed is the very same part, and a changed one keeps its id and content type; but what was written anew
is UTF-8, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from postroad.core.model.message import Delivered, Part
from postroad.core.routing.documents import looks_like_json, looks_like_xml
from postroad.core.routing.json_path import read_json_path
from postroad.errors import Refused
from postroad.services.arguments import Arguments, bad_argument
from postroad.services.json_values import JsonValues
from postroad.services.off_loop import off_loop
from postroad.services.xml_values import XmlValues, xml_path

_CHARSET = re.compile(r"""(;\s*charset\s*=\s*)(?!"?utf-8"?(?:[\s;]|\Z))(?:"[^"]*"|[^\s;"]+)""", re.IGNORECASE)


class Values(Protocol):
    """The values that a path leads to in one document."""

    @property
    def values(self) -> tuple[str, ...]: ...

    def replaced(self, replacements: Mapping[str, str | None]) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """A part, and the values that were found in it."""

    part: Part
    found: Values


def chosen(message: Delivered, document: str, fits: Callable[[Part], bool] = looks_like_xml) -> list[Part]:
    """The part that is named or, where none is, the fitting documents of the body."""
    if not document:
        return [part for part in message.parts if not part.attachment and fits(part)]
    named = [part for part in message.parts if part.id == document]
    if not named:
        raise bad_argument("document", f"The message has no document {document[:80]!r} that this service may see")
    return named


async def looked_into(message: Delivered, arguments: Arguments, path: str) -> list[Looked]:
    """The documents that are meant, with what the path finds in each."""
    check_path(path, arguments)
    parts = chosen(message, arguments.get("document"), looks_like_json if path.startswith("$") else looks_like_xml)
    walks = 1 if path.startswith("$") else max(1, xml_path(path, arguments.namespaces).walks)
    return [
        Looked(part=part, found=await off_loop(walks * len(part.data), _values, part, path, arguments.namespaces))
        for part in parts
    ]


def check_path(path: str, arguments: Arguments) -> None:
    """Refuse a path that cannot be followed in any document."""
    if not path.startswith(("/", "$")):
        raise bad_argument("element", f"The path {path[:80]!r} begins neither with / (XML) nor with $ (JSON)")
    try:
        if path.startswith("$"):
            read_json_path(path)
        else:
            xml_path(path, arguments.namespaces)
    except Refused as refusal:
        raise bad_argument("element", refusal.detail) from None


def values_in(looked: list[Looked]) -> tuple[str, ...]:
    return tuple(value for one in looked for value in one.found.values)


async def with_values(
    message: Delivered, looked: list[Looked], replacements: Mapping[str, str | None]
) -> tuple[Part, ...] | None:
    """All parts of the message, values replaced; None when there is nothing to replace."""
    changed: dict[str, Part] = {}
    for one in looked:
        if not replacements.keys().isdisjoint(one.found.values):
            data = await off_loop(len(one.part.data), one.found.replaced, replacements)
            changed[one.part.id] = replace(one.part, data=data, content_type=in_utf8(one.part.content_type))
    return tuple(changed.get(part.id, part) for part in message.parts) if changed else None


def in_utf8(content_type: str) -> str:
    """The content type of what was written anew: a charset that it came in is the charset no longer."""
    return _CHARSET.sub(r"\1utf-8", content_type)


def _values(part: Part, path: str, namespaces: Mapping[str, str]) -> Values:
    try:
        return JsonValues(part.data, path) if path.startswith("$") else XmlValues(part.data, path, namespaces)
    except Refused as refusal:
        if refusal.code.startswith("wire."):
            detail = f"The document {part.id!r} cannot be read: {refusal.detail}"
            raise Refused(refusal.code, detail, pointer=refusal.pointer) from None
        raise
