"""The rules for a message's parts and lists that hold in every wire form: ids are unique, missing ones are numbered.

A part without an id gets its position among all parts of the message, documents first: "1", "2" … It is an error if a
later part uses a number that was assigned this way, because a receiver could not distinguish the two.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from postroad.core.codecs.limits import NAME_CHARS, WireLimits
from postroad.core.codecs.media import media_type_of
from postroad.core.codecs.refusals import malformed, too_complex
from postroad.core.model.message import Message, Part, Recipient
from postroad.errors import Refused

RESERVED_HEADERS = frozenset(
    ("content-type", "content-id", "content-transfer-encoding", "content-length", "mime-version", "postroad-expires")
)
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
OCTETS = "application/octet-stream"
XML = "application/xml"
TEXT = "text/plain"
JSON = "application/json"
_UNSPECIFIC = frozenset({OCTETS, TEXT, ""})
_XML_STARTS = (b"<", b"\xef\xbb\xbf<", b"\xff\xfe", b"\xfe\xff", b"\x00<")


def is_xml(content_type: str) -> bool:
    """Return True if the content type is an XML type."""
    media_type = content_type.partition(";")[0].rstrip().lower()
    return media_type in (XML, "text/xml") or media_type.endswith("+xml")


def looks_like_xml(part: Part) -> bool:
    """True if the content type is XML, or is unspecific and the content begins like XML."""
    if media_type_of(part.content_type) in _UNSPECIFIC:
        return part.data[:100].lstrip(b" \t\r\n").startswith(_XML_STARTS)
    return is_xml(part.content_type)


def looks_like_json(part: Part) -> bool:
    """True if the content type is JSON, or is unspecific and the content begins like JSON."""
    media_type = media_type_of(part.content_type)
    if media_type in _UNSPECIFIC:
        return part.data[:100].lstrip(b" \t\r\n").startswith((b"{", b"["))
    return media_type in ("application/json", "text/json") or media_type.endswith("+json")


def check_ids(ids: Collection[str], pointer: str) -> None:
    if len(set(ids)) < len(ids):
        raise malformed("part ids are unique; one of them is used twice", pointer)


def check_count(items: Collection[object], most: int, what: str, pointer: str) -> None:
    if len(items) > most:
        raise too_complex(f"{len(items)} {what} were sent; at most {most} are allowed", pointer)


def read_headers(given: Iterable[tuple[str, str]], pointer: str, limits: WireLimits) -> tuple[tuple[str, str], ...]:
    """Further MIME headers of a part, in bounds; those that the network itself writes have fields of their own."""
    headers = tuple(given)
    if not headers:
        return ()
    check_count(headers, limits.part_headers, "headers", pointer)
    check_names([name.lower() for name, _ in headers], "header", pointer)
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name) or name.lower() in RESERVED_HEADERS:
            raise malformed(f"{name[:40]!r} cannot be a header of a part", pointer)
        if not value.isprintable() or len(value) > limits.text_chars:
            raise malformed(f"the header {name[:40]} has at most {limits.text_chars} printable characters", pointer)
    return headers


def in_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return documents first, then attachments, each in the given order: the only order that every form can write."""
    listed = tuple(parts)
    return tuple(p for p in listed if not p.attachment) + tuple(p for p in listed if p.attachment)


def check_lists(message: Message, limits: WireLimits) -> None:
    """Check the counts that all forms limit; called once for each decoded message."""
    if len(message.parts) > 1:
        check_count(message.parts, limits.parts, "documents and attachments", "/documents")
        check_ids([part.id for part in message.parts], "/documents")
    if message.properties:
        check_count(message.properties, limits.properties, "properties", "/properties")
        check_names([entry.name for entry in message.properties], "property", "/properties")
    check_services(message.to, "/to", limits)
    if message.route:
        check_services(message.route, "/route", limits)


def check_services(services: tuple[Recipient, ...], pointer: str, limits: WireLimits) -> None:
    if len(services) > 1:
        check_count(services, limits.recipients, "services", pointer)
    for service in services:
        if service.arguments:
            check_count(service.arguments, limits.arguments, "arguments", pointer)
            check_names([argument.name for argument in service.arguments], "argument", pointer)


def check_names(names: Collection[str], what: str, pointer: str) -> None:
    if len(names) == 1 and 0 < len(*names) <= NAME_CHARS:
        return
    distinct = set(names)
    if "" in distinct:
        raise malformed(f"{what} names may not be empty", pointer)
    if max(map(len, distinct), default=0) > NAME_CHARS:
        raise Refused("wire.too-large", f"{what} names have at most {NAME_CHARS} characters", pointer=pointer)
    if len(distinct) < len(names):
        raise malformed(f"{what} names are unique; one of them is used twice", pointer)
