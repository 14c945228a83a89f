"""A delivered message with its documents as Python values."""

from __future__ import annotations

from typing import Any

import msgspec

from postroad.core.codecs.media import media_type_of
from postroad.core.model.message import Delivered, Part


class Received(Delivered, frozen=True, kw_only=True):
    """A delivered message; ``documents`` and ``document`` are decoded on access."""

    @property
    def documents(self) -> list[Any]:
        """The documents: JSON decoded, XML and text as ``str``, everything else as ``bytes``."""
        return [decode_part(part) for part in self.parts if not part.attachment]

    @property
    def document(self) -> Any:
        """The first document, or None."""
        return next((decode_part(part) for part in self.parts if not part.attachment), None)


def to_received(delivered: Delivered) -> Received:
    return Received(**{name: getattr(delivered, name) for name in Delivered.__struct_fields__})


def decode_part(part: Part) -> Any:
    """Decode a part; bytes that do not match its content type are returned unchanged."""
    kind = media_type_of(part.content_type)
    try:
        if kind == "application/json" or kind.endswith("+json"):
            return msgspec.json.decode(part.data)
        if kind.startswith("text/") or kind == "application/xml" or kind.endswith("+xml"):
            return part.data.decode()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return part.data
    return part.data
