"""Parts as MIME entities, and back: what stands in a part's header, and what a receiver is told of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

from postroad.core.codecs.faults import malformed
from postroad.core.codecs.lexical import read_text, read_time, write_time
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.mime import Entity, write_head
from postroad.core.codecs.parts import RESERVED_HEADERS, read_headers
from postroad.core.model.message import Part

EXPIRES = "Postroad-Expires"
LOCATION = "Content-Location"
DISPOSITION = "Content-Disposition"
TEXT = "text/plain"

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S")
_CID_SAFE = "!$&'()*+,;=:@/?-._~"


def id_in(value: str) -> str:
    """``<a@b>`` → ``a@b``."""
    return value.strip().removeprefix("<").removesuffix(">")


def cid_of(id: str) -> str:
    """The URI by which an id is referred to (RFC 2392); an id that is a URI stands for itself."""
    return id if _URI.match(id) else f"cid:{quote(id, safe=_CID_SAFE)}"


def id_of_uri(uri: str) -> str:
    return unquote(uri[4:]) if uri[:4].lower() == "cid:" else uri


def has_own_id(part: Part, number: int) -> bool:
    """Whether its sender gave the part its id; else it has the number of its place, which any reader gives it anew."""
    return part.id != str(number)


def read_line(text: str, what: str, limits: WireLimits) -> str:
    """An id or a type that can stand in any header: one line of printable characters."""
    if not text.isprintable():
        raise malformed(f"the {what} of a part is one line of printable characters")
    return read_text(text, what, limits)


def part_of(entity: Entity, number: int, limits: WireLimits, *, attachment: bool | None = None) -> Part:
    """The part that stands in an entity."""
    location = entity.header(LOCATION)
    disposition = entity.header(DISPOSITION)
    expires = entity.header(EXPIRES)
    return Part(
        id=read_line(id_in(entity.header("Content-ID")) or location or str(number), "id", limits),
        content_type=read_line(entity.content_type or TEXT, "type", limits),
        data=bytes(entity.data()),
        expires_at_us=read_time(expires, EXPIRES) if expires else 0,
        attachment=disposition.lower().startswith("attachment") if attachment is None else attachment,
        headers=said_in(entity.headers(), limits),
    )


def said_in(headers: Iterable[tuple[str, str]], limits: WireLimits) -> tuple[tuple[str, str], ...]:
    """What else a header block says of the part; a name that comes twice is one entry with both values."""
    said: dict[str, tuple[str, str]] = {}
    for name, value in headers:
        key = name.lower()
        if key in RESERVED_HEADERS or not value.strip():
            continue
        text = value.encode("latin-1").decode("utf-8", "replace") if not value.isascii() else value
        printable = "".join(char if char.isprintable() else " " for char in text).strip()
        said[key] = (said[key][0], f"{said[key][1]}, {printable}") if key in said else (name, printable)
    return read_headers(said.values(), "headers", limits) if said else ()


def head_of(part: Part, number: int, *, measured: bool = False) -> bytes:
    """The header block of a part."""
    length = [("Content-Length", str(len(part.data)))] if measured else []
    return write_head(fields_of(part, number) + length)


def fields_of(part: Part, number: int, *, with_type: bool = True) -> list[tuple[str, str]]:
    fields = [("Content-Type", part.content_type)] if with_type else []
    if has_own_id(part, number) and not _URI.match(part.id):
        fields.append(("Content-ID", f"<{part.id}>"))
    fields += [(name, _ascii(value)) for name, value in part.headers]
    named = {name.lower() for name, _ in part.headers}
    if _URI.match(part.id) and LOCATION.lower() not in named:
        fields.append((LOCATION, part.id))
    if part.attachment and DISPOSITION.lower() not in named:
        fields.append((DISPOSITION, "attachment"))
    if part.expires_at_us:
        fields.append((EXPIRES, write_time(part.expires_at_us)))
    return fields


def _ascii(value: str) -> str:
    """As headers are written: UTF-8, seen as Latin-1 by whoever writes it byte for byte."""
    return value if value.isascii() else value.encode().decode("latin-1")


def left_out(parts: Iterable[Part], format: str) -> list[str]:
    """What a format loses that has place for nothing but id, type and data."""
    dropped = []
    for number, part in enumerate(parts, 1):
        for name, _ in part.headers:
            if name.lower() != LOCATION.lower() or part.id != dict(part.headers)[name]:
                dropped.append(f"part {part.id or number}: {name} has no place in {format}")
        if part.expires_at_us:
            dropped.append(f"part {part.id or number}: its expiration has no place in {format}")
    return dropped
