"""AS2 names, as used in AS2-From and AS2-To (RFC 4130, 6.2).

Rule: internally, a name is its bare text; quotes exist only on the wire, and are removed once and added once. Names
are compared exactly, including case.
"""

from __future__ import annotations

import re
from functools import lru_cache

from postroad.core.codecs.as2.headers import Headers, field_of
from postroad.errors import Refused

NAME_CHARS = 128
_UNQUOTED = re.compile(r"[!#-\[\]-~]+")  # printable ASCII without blank, quotation mark and backslash
_QUOTED = re.compile(r'"((?:[ !#-\[\]-~]|\\[\\"])*)"')
_ESCAPED = re.compile(r'\\([\\"])')
_NEEDS_ESCAPE = re.compile(r'([\\"])')
_PRINTABLE = re.compile(r"[ -~]+")


def check_as2_name(name: str) -> str:
    """Return the bare name; refuses anything but 1 to 128 printable ASCII characters."""
    if not 0 < len(name) <= NAME_CHARS or not _PRINTABLE.fullmatch(name):
        raise Refused(
            "as2.malformed",
            f"{name[:NAME_CHARS]!r} is not an AS2 name; a name has 1 to {NAME_CHARS} printable ASCII characters",
        )
    return name


@lru_cache(maxsize=1024)
def quote_name(name: str) -> str:
    """Return a name for a header, in quotation marks only if it needs them."""
    if _UNQUOTED.fullmatch(check_as2_name(name)):
        return name
    return '"' + _NEEDS_ESCAPE.sub(r"\\\1", name) + '"'


@lru_cache(maxsize=1024)
def unquote_name(value: str) -> str:
    """Return the bare name in a header value. Unquoted blanks are accepted, because many products omit the quotes."""
    if match := _QUOTED.fullmatch(value):
        return check_as2_name(_ESCAPED.sub(r"\1", match[1]))
    return check_as2_name(value)


def read_names(headers: Headers) -> tuple[str, str]:
    """Return sender and recipient as bare names; refuses a missing or invalid name."""
    return _name(headers, "AS2-From"), _name(headers, "AS2-To")


def _name(headers: Headers, field: str) -> str:
    value = field_of(headers, field.lower())
    if not value:
        raise Refused("as2.malformed", f"The header {field} is missing; both AS2-From and AS2-To must be given")
    return unquote_name(value)
