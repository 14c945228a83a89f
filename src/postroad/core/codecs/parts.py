"""The rules for a message's parts and lists that hold in every wire form: ids are unique, missing ones are numbered.

A part without an id gets its place among all parts of the message, documents first: "1", "2" … It is an error when a later
part claims a number that was given out this way, since a receiver could then not tell the two apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from postroad.core.codecs.limits import WireLimits
from postroad.core.model.message import Message, Part
from postroad.errors import Refused

OCTETS = "application/octet-stream"
XML = "application/xml"
TEXT = "text/plain"
JSON = "application/json"


def is_xml(content_type: str) -> bool:
    """Whether a content type says that the bytes are XML."""
    media_type = content_type.partition(";")[0].rstrip().lower()
    return media_type in (XML, "text/xml") or media_type.endswith("+xml")


def check_ids(ids: Iterable[str], pointer: str) -> None:
    seen: set[str] = set()
    for part_id in ids:
        if part_id in seen:
            raise Refused("wire.malformed", f"the part id {part_id[:80]!r} is used twice; ids are unique", pointer=pointer)
        seen.add(part_id)


def check_count(items: Collection[object], most: int, what: str, pointer: str) -> None:
    if len(items) > most:
        raise Refused("wire.too-complex", f"{len(items)} {what} were given; at most {most} are allowed", pointer=pointer)


def in_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Documents first, then attachments, each in the order given: the one order that every form can write."""
    listed = tuple(parts)
    return tuple(p for p in listed if not p.attachment) + tuple(p for p in listed if p.attachment)


def check_lists(message: Message, limits: WireLimits) -> None:
    """Counts that every form limits alike; called once for each decoded message."""
    check_count(message.to, limits.recipients, "recipients", "/to")
    check_count(message.route, limits.recipients, "services on the route", "/route")
    check_count(message.properties, limits.properties, "properties", "/properties")
    check_count(message.parts, limits.parts, "documents and attachments", "/documents")
    for recipient in message.to + message.route:
        if recipient.arguments:
            check_count(recipient.arguments, limits.arguments, "arguments", "/to")
            check_names((a.name for a in recipient.arguments), "argument", "/to")
    if message.properties:
        check_names((p.name for p in message.properties), "property", "/properties")
    if len(message.parts) > 1:
        check_ids((p.id for p in message.parts), "/documents")


def check_names(names: Iterable[str], what: str, pointer: str) -> None:
    seen: set[str] = set()
    for name in names:
        if not name:
            raise Refused("wire.malformed", f"{what} names may not be empty", pointer=pointer)
        if name in seen:
            raise Refused("wire.malformed", f"the {what} name {name[:80]!r} is used twice", pointer=pointer)
        seen.add(name)
