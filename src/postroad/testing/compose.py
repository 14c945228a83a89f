"""Makes messages and parts for tests, from the relevant fields only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroad.core.model.message import Message, Part, Recipient

Destination = str | Recipient


def compose(
    to: Destination | Sequence[Destination] = (), document: bytes | str | None = None, **header: Any
) -> Message:
    """Return a message; recipients and stops of ``route`` may be addresses, ``document`` becomes its only part."""
    header["to"] = _recipients(to)
    header["route"] = _recipients(header.get("route", ()))
    if document is not None:
        header["parts"] = (make_part(document),)
    return Message(**header)


def make_part(document: bytes | str, id: str = "1", content_type: str = "", **fields: Any) -> Part:
    """Return a part; without ``content_type``, the first character distinguishes XML, JSON and plain text."""
    data = document.encode() if isinstance(document, str) else document
    if not content_type:
        content_type = {b"<": "application/xml", b"{": "application/json"}.get(data[:1], "text/plain")
    return Part(id=id, content_type=content_type, data=data, **fields)


def _recipients(given: Destination | Sequence[Destination]) -> tuple[Recipient, ...]:
    listed = (given,) if isinstance(given, (str, Recipient)) else given
    return tuple(Recipient(each) if isinstance(each, str) else each for each in listed)
