"""Converts parts to MIME entities and back: the headers of a part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.lexical import read_time, write_time
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.mime import Entity, bare_id, write_head
from postroad.core.codecs.parts import RESERVED_HEADERS, TEXT, read_headers
from postroad.core.mediation.model import Headers
from postroad.core.mediation.part_names import (
    LOCATION,
    encode_id,
    has_own_id,
    is_located,
    location_of,
    name_of_place,
    read_line,
    to_one_line,
)
from postroad.core.mediation.wrapper import Wrapper
from postroad.core.model.message import Part

EXPIRES = "Postroad-Expires"
DISPOSITION = "Content-Disposition"
ATTACHMENT = "attachment"
Fields = list[tuple[str, str]]


def parts_of(
    entities: Sequence[Entity], first: int, limits: WireLimits, *, attached: bool = False, said: Iterable[str] = ()
) -> tuple[Part, ...]:
    """Return the parts in these entities; unless all are attachments, each gets a disposition.

    ``said`` are ids of parts in other places.
    """
    ordered = entities if attached else in_order(entities)
    ids = {*said, *list_ids(entities)}
    return tuple([
        part_of(
            entity.headers(),
            entity.data(limits),
            name_of_place(number, ids),
            limits,
            attachment=attached or is_attached(entity),
        )
        for number, entity in enumerate(ordered, first)
    ])  # fmt: skip


def list_ids(entities: Iterable[Entity]) -> set[str]:
    """The ids that senders gave their parts."""
    return {
        decode_header_value(entity.content_id) or decode_header_value(entity.header(LOCATION)) for entity in entities
    }


def in_order(entities: Iterable[Entity]) -> list[Entity]:
    """Return documents first, then attachments, each in order of arrival: the order of every format."""
    return sorted(entities, key=is_attached)


def is_attached(entity: Entity) -> bool:
    return media_type_of(entity.header(DISPOSITION)) == ATTACHMENT


def part_of(
    headers: Headers, data: Buffer, place: str, limits: WireLimits, *, attachment: bool = False, usual: str = TEXT
) -> Part:
    """Return the part with these headers and this content; ``place`` is its default id, and ``usual`` its default type."""
    said = _gathered(headers)
    content_id, location, content_type, expires, disposition = (
        said.get(name.lower(), ("", ""))[1] for name in ("Content-ID", LOCATION, "Content-Type", EXPIRES, DISPOSITION)
    )
    if attachment and disposition.lower() == ATTACHMENT:
        del said[DISPOSITION.lower()]  # redundant: the part is marked as an attachment
    return Part(
        id=read_line(bare_id(content_id) or location or place, "id", limits),
        content_type=read_line(content_type or usual, "type", limits),
        data=bytes(data),
        expires_at_us=read_time(expires, EXPIRES) if expires else 0,
        attachment=attachment,
        headers=read_further_headers(said.values(), limits),
    )


def _gathered(headers: Headers) -> dict[str, tuple[str, str]]:
    """Headers by their names in lower case; one that occurs twice is one entry with both values."""
    said: dict[str, tuple[str, str]] = {}
    for name, value in headers:
        text, key = decode_header_value(value), name.lower()
        if key in said and key not in RESERVED_HEADERS:
            said[key] = (said[key][0], f"{said[key][1]}, {text}")
        else:
            said.setdefault(key, (name, text))
    return said


def decode_header_value(value: str) -> str:
    """Decode a header value that was read as Latin-1: UTF-8 if it is valid, otherwise unchanged. Tabs become spaces."""
    if not value.isascii():
        with suppress(UnicodeError):
            value = value.encode("latin-1").decode()
    return value.replace("\t", " ").strip()


def read_further_headers(said: Iterable[tuple[str, str]], limits: WireLimits) -> tuple[tuple[str, str], ...]:
    """Further headers of a part, in printable characters."""
    kept = [(name, to_one_line(text)) for name, text in said if name.lower() not in RESERVED_HEADERS]
    return read_headers(kept, "headers", limits) if kept else ()


def head_of(part: Part, number: int | None, more: Iterable[tuple[str, str]] = (), *, flagged: bool = True) -> bytes:
    """The header block of a part; ``more`` is what belongs to its wrapping."""
    return write_head(
        [
            ("Content-Type", encode_header_value(to_one_line(part.content_type))),
            *fields_of(part, number, flagged),
            *more,
        ]
    )


def fields_of(part: Part, number: int | None, flagged: bool = True) -> Fields:
    """Return a part's header fields except its type; ``flagged`` adds whether it is an attachment."""
    fields: Fields = []
    if (has_own_id(part, number) or location_of(part)) and not is_located(part):
        fields.append(("Content-ID", encode_header_value(f"<{encode_id(part.id)}>")))
    fields += [(name, encode_header_value(value)) for name, value in part.headers]
    if flagged and part.attachment and disposition_of(part) is None:
        fields.append((DISPOSITION, ATTACHMENT))
    if part.expires_at_us:
        fields.append((EXPIRES, write_time(part.expires_at_us)))
    return fields


def disposition_of(part: Part) -> str | None:
    return next((media_type_of(value) for name, value in part.headers if name.lower() == DISPOSITION.lower()), None)


def reads_as_attachment(part: Part) -> bool:
    """Return True if a reader of its headers treats the part as an attachment."""
    said = disposition_of(part)
    return part.attachment if said is None else said == ATTACHMENT


def numbers_of(parts: Sequence[Part]) -> list[int | None]:
    """Return the position numbers of the parts of a message; None for all if a reader would reorder them by their headers."""
    keeps_order = all(reads_as_attachment(part) == part.attachment for part in parts)
    return [index + 1 if keeps_order else None for index in range(len(parts))]


def encode_header_value(value: str) -> str:
    """Encodes a header value: UTF-8 as Latin-1 characters, for writers that write one byte per character."""
    return value if value.isascii() else value.encode().decode("latin-1")


def length_of(part: Part, index: int, wrapper: Wrapper | None) -> Fields:
    """Return Content-Length for a part that arrived in a DIME record of known length."""
    return [("Content-Length", str(len(part.data)))] if wrapper is not None and index not in wrapper.chunked else []
