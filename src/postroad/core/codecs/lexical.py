"""How times, numbers, booleans and header texts are written in every wire form.

Rule: everything that one form accepts, every form can write. So header texts contain only characters that XML can
carry, numbers keep their digits and follow JSON's grammar, and times name their zone.
"""

from __future__ import annotations

import re
from binascii import Error as NotBase64
from binascii import a2b_base64
from datetime import UTC, datetime, timedelta

from postroad.core.codecs.buffers import Buffer
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.property_values import read_items, write_items
from postroad.core.codecs.refusals import malformed
from postroad.core.model.message import COLLECTIONS, PropertyType
from postroad.errors import Refused

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
LAST_US = 253_402_300_799_999_999  # the end of the year 9999, the last one that RFC 3339 can write

_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ROUTINGS = ("static", "dynamic")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def read_time(text: str, pointer: str) -> int:
    """Microseconds since 1970 from an RFC 3339 time. Times before 1970 count as 1 µs: long gone, and never "none"."""
    if not _DATE_TIME.fullmatch(text):
        raise malformed(
            f"{text[:40]!r} is not a time; write it as 2026-11-15T10:00:00Z, with a zone",
            pointer,
        )
    try:
        microseconds = (datetime.fromisoformat(text.upper()) - _EPOCH) // _MICROSECOND
    except (ValueError, OverflowError):
        raise malformed(f"{text[:40]!r} is not a valid time", pointer) from None
    return min(max(microseconds, 1), LAST_US)


def write_time(microseconds: int) -> str:
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat()[:-6] + "Z"


def read_boolean(text: str, pointer: str) -> bool:
    value = _BOOLEANS.get(text)
    if value is None:
        raise malformed(f"{text[:40]!r} is neither true nor false", pointer)
    return value


def read_routing(text: str, pointer: str) -> str:
    """How the message is to be routed; empty means as each service has chosen."""
    if text and text not in ROUTINGS:
        raise malformed(f"{text[:40]!r} is not a routing; use {' or '.join(ROUTINGS)}, or omit it", pointer)
    return text


def read_property(text: str, kind: PropertyType, pointer: str, limits: WireLimits) -> str:
    """The property's text in the one spelling that every form can write, or a refusal."""
    if kind is PropertyType.STRING:
        return read_text(text, pointer, limits)
    if kind is PropertyType.NUMBER:
        return _number(text, pointer, limits)
    if kind is PropertyType.BOOLEAN:
        return "true" if read_boolean(text, pointer) else "false"
    if kind in COLLECTIONS:
        items = read_items(read_text(text, pointer, limits), pointer)
        return write_items([(one, read_property(item, one, pointer, limits)) for one, item in items])
    if _DATE.fullmatch(text):
        read_time(text + "T00:00:00Z", pointer)
    else:
        read_time(text, pointer)
    return text


def _number(text: str, pointer: str, limits: WireLimits) -> str:
    if len(text) > limits.number_chars or not _NUMBER.fullmatch(text):
        most = limits.number_chars
        raise malformed(f"{text[:40]!r} is not a number of at most {most} characters, written like -12.50", pointer)
    return text


def read_text(text: str, pointer: str, limits: WireLimits) -> str:
    """Return the text if it is allowed in a header."""
    if text.isprintable() and len(text) <= limits.text_chars:
        return text  # printable text holds nothing that XML could not carry
    if len(text) > limits.text_chars:
        raise Refused("wire.too-large", f"at most {limits.text_chars} characters are allowed here", pointer=pointer)
    found = NOT_XML.search(text)
    if found:
        raise malformed(
            f"the character U+{ord(found.group()):04X} is not allowed in a header value",
            pointer,
        )
    return text


def check_size(body: Buffer, limits: WireLimits) -> None:
    if len(body) > limits.body_bytes:
        raise Refused("wire.too-large", f"the body has {len(body)} bytes; at most {limits.body_bytes} are allowed")


def read_base64(text: str, pointer: str) -> bytes:
    try:
        return a2b_base64("".join(text.split()), strict_mode=True)
    except (NotBase64, ValueError):
        raise malformed("the Base64 is not valid", pointer) from None
