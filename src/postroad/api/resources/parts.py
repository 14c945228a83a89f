"""Message parts as file downloads that no browser executes."""

from __future__ import annotations

from fastapi import Response

from postroad.flow.administration.messages.contents import PartContent


def part_answer(part_id: str, found: PartContent) -> Response:
    name = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in part_id)
    told = found.content_type if found.content_type.isascii() and found.content_type.isprintable() else ""
    headers = {
        "Content-Disposition": f'attachment; filename="{name[:100] or "part"}"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type": told,
    }
    return Response(found.data, headers=headers, media_type=safe_type(found.content_type, found.data))


def safe_type(content_type: str, data: bytes) -> str:
    """Text that no browser runs, or just bytes."""
    kind = content_type.partition(";")[0].strip().lower()
    if not (kind.startswith("text/") or kind.endswith(("json", "xml"))):
        return "application/octet-stream"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain; charset=utf-8"
