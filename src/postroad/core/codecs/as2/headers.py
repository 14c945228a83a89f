"""Header fields of AS2 messages: finds them, and prevents header injection when writing them.

Rule: a value with a control character never leaves this package. Values come from partners, profiles and documents; one
line break in a name or subject would let its author write headers in our name.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from postroad.errors import Refused

Headers = Sequence[tuple[str, str]]

MESSAGE_ID_CHARS = 998  # maximum line length of RFC 5322
_NOT_PRINTABLE = re.compile(r"[^\x20-\x7e]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_WORD_BYTES = 42  # bytes in an encoded word (RFC 2047): 42 bytes are 56 characters of base64, and a word has at most 75
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def field_of(headers: Headers, name: str) -> str:
    """Return the first value of that name, stripped; "" if it is missing."""
    for key, value in headers:
        if key.lower() == name:
            return value.strip(" \t\r\n")
    return ""


def fields_of(headers: Headers) -> dict[str, str]:
    """Return the first value of every name, by its lower-case name."""
    found: dict[str, str] = {}
    for key, value in headers:
        found.setdefault(key.lower(), value.strip(" \t\r\n"))
    return found


def refuse_repeated(headers: Headers, names: Iterable[str]) -> None:
    """Refuse fields that occur twice with different values, because they are ambiguous."""
    for name in names:
        values = {value.strip() for key, value in headers if key.lower() == name}
        if len(values) > 1:
            raise Refused("as2.malformed", f"The header {name} is repeated with different values; send it once")


def require_printable(value: str, what: str) -> str:
    """Return the value; refuses one that is not printable ASCII. ``what`` names it in the refusal."""
    if wrong := _NOT_PRINTABLE.search(value):
        raise Refused(
            "as2.malformed",
            f"{what} has the character {wrong[0]!r} at {wrong.start()}; only printable ASCII is allowed there",
        )
    return value


def check_message_id(value: str) -> str:
    """Return a Message-ID that can be sent back; refuses one that is empty, not printable, or longer than a line."""
    if not 0 < len(value) <= MESSAGE_ID_CHARS:
        raise Refused("as2.malformed", f"The Message-ID must have 1 to {MESSAGE_ID_CHARS} characters")
    return require_printable(value, "The Message-ID")


def subject_value(text: str) -> str:
    """Return a subject for a header: unchanged if it is ASCII, otherwise in encoded words (RFC 2047)."""
    if wrong := _CONTROL.search(text):
        raise Refused("as2.malformed", f"The subject has the control character {wrong[0]!r}; remove it")
    return text if text.isascii() and "=?" not in text else " ".join(_encoded_words(text))


def _encoded_words(text: str) -> Iterable[str]:
    """Yield encoded words of at most 75 characters; a character is never split between words."""
    word = b""
    for character in text.encode("utf-8", "replace").decode():
        encoded = character.encode()
        if len(word) + len(encoded) > _WORD_BYTES:
            yield f"=?utf-8?B?{b64encode(word).decode()}?="
            word = b""
        word += encoded
    yield f"=?utf-8?B?{b64encode(word).decode()}?="


def date_value(at: datetime) -> str:
    """Format a time as in HTTP and mail headers, in English regardless of the locale."""
    utc = at.astimezone(UTC)
    day, month = _DAYS[utc.weekday()], _MONTHS[utc.month - 1]
    return f"{day}, {utc.day:02} {month} {utc.year:04} {utc.hour:02}:{utc.minute:02}:{utc.second:02} GMT"
