"""Conversion between Python values and the documents of a message.

A ``str`` is text (XML if it begins like XML), ``bytes`` are octets (also XML), a ``Part`` is used unchanged, and any
other value is written as JSON. For another content type, create a ``Part``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from postroad.core.codecs.media import media_type_of
from postroad.core.model.message import Delivered, Part

XML = "application/xml"
TEXT = "text/plain; charset=utf-8"
JSON = "application/json"
OCTETS = "application/octet-stream"


def make_part(document: Any, number: int = 1, *, attachment: bool = False) -> Part:
    """Return one document or attachment as a part; ``number`` becomes its id."""
    if isinstance(document, Part):
        return msgspec.structs.replace(document, attachment=attachment or document.attachment)
    content_type, data = _content(document)
    return Part(id=str(number), content_type=content_type, data=data, attachment=attachment)


def make_parts(documents: Iterable[Any], attachments: Iterable[Any] = ()) -> tuple[Part, ...]:
    bodies = [make_part(document, number) for number, document in enumerate(documents, 1)]
    first = len(bodies) + 1
    return (*bodies, *(make_part(item, number, attachment=True) for number, item in enumerate(attachments, first)))


def replace_documents(delivered: Delivered, documents: Sequence[Any]) -> tuple[Part, ...]:
    """Return a message's parts with documents replaced; ids and attachments stay."""
    before = [item for item in delivered.parts if not item.attachment]
    bodies = [
        _changed(document, before[number])
        if number < len(before)
        else make_part(document, len(delivered.parts) + number + 1)
        for number, document in enumerate(documents)
    ]
    return (*bodies, *(item for item in delivered.parts if item.attachment))


def _changed(document: Any, before: Part) -> Part:
    """Return the replaced document; its content type stays if it is of the same kind."""
    if isinstance(document, Part):
        return document
    made = make_part(document)
    same = _family(made.content_type) == _family(before.content_type)
    return msgspec.structs.replace(made, id=before.id, content_type=before.content_type if same else made.content_type)


def _family(content_type: str) -> str:
    kind = media_type_of(content_type)
    for family in ("xml", "json"):
        if kind.endswith((f"/{family}", f"+{family}")):
            return family
    return kind


def _content(document: Any) -> tuple[str, bytes]:
    if isinstance(document, str):
        return XML if document.lstrip()[:1] == "<" else TEXT, document.encode()
    if isinstance(document, bytes | bytearray | memoryview):
        data = bytes(document)
        return XML if data.lstrip()[:1] == b"<" else OCTETS, data
    return JSON, msgspec.json.encode(document)


def _data_of(message: Delivered, number: int) -> bytes:
    documents = [item for item in message.parts if not item.attachment]
    if not 0 <= number < len(documents):
        raise ValueError(f"message {message.session} has {len(documents)} documents, so there is none at {number}")
    return documents[number].data


def text_of(message: Delivered, number: int = 0) -> str:
    """Return a document of a delivered message as text (UTF-8), by default the first."""
    return _data_of(message, number).decode()


def json_of(message: Delivered, number: int = 0) -> Any:
    """Return a document of a delivered message, parsed as JSON."""
    return msgspec.json.decode(_data_of(message, number))
