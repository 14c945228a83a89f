"""Options that a document declares: delimiters, character set, EDIFACT syntax identifier.

    content type   application/edifact; delimiters=3a.2b.2c.3f.20.27; charset=iso-8859-2
    properties     document.delimiters = 3a 2b 2c 3f 20 27 · document.charset = iso-8859-2 · document.syntax = UNOD

A splitter writes these, and so can any sender of a single document. An assembler reads them and converts the document
to the options of its envelope. Rules: the content type describes the current bytes, so it takes precedence, and a
document that contradicts it is refused. A property may describe an earlier version of the document, so it counts only
if the document can be read with it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TypeVar

from postroad.core.codecs.media import parameter_of
from postroad.core.interchange.assembly_errors import unfit
from postroad.core.interchange.model import Buffer, DescribedDocument
from postroad.core.model.message import Property
from postroad.errors import Refused

_Document = TypeVar("_Document")

# The order in which delimiters are listed; EDIFACT's is that of UNA.
DELIMITERS = {
    "x12": ("element", "component", "terminator", "repetition"),
    "edifact": ("component", "element", "decimal", "release", "repetition", "terminator"),
}
DELIMITERS_PROPERTY, CHARSET_PROPERTY = "document.delimiters", "document.charset"
SYNTAX_PROPERTY, STANDARD_PROPERTY = "document.syntax", "interchange.standard"
_NOT_USED = "20"  # a blank, as in UNA
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}){1,4}")
_BETWEEN = re.compile(r"[ .-]")
_CHARSET = re.compile(
    r"us-ascii|ascii|latin-?1|utf-?(?:8|16|32)(?:-?[lb]e)?|iso[-_]?8859[-_]\d{1,2}|(?:windows|cp)-?\d{3,4}|koi8-[ru]"
)
_WIDE = ("utf-16", "utf-32")


def read_declared_options(standard: str, content_type: str, properties: Iterable[Property]) -> dict[str, str]:
    """Return the options that a message declares about its document; of properties, only those of this standard."""
    options: dict[str, str] = {}
    told = {one.name: one.value for one in properties}
    if told.get(STANDARD_PROPERTY, standard) == standard:
        names = {
            "earlier_delimiters": DELIMITERS_PROPERTY,
            "earlier_charset": CHARSET_PROPERTY,
            "syntax": SYNTAX_PROPERTY,
        }
        options |= {name: told[label] for name, label in names.items() if told.get(label)}
    if ";" in content_type:
        options |= {name: value for name in ("delimiters", "charset") if (value := parameter_of(content_type, name))}
    return options


@lru_cache(maxsize=256)
def read_delimiters(standard: str, text: str) -> Mapping[str, bytes]:
    """Return the declared delimiters by role; a role without a delimiter is empty."""
    listed, names = [one for one in _BETWEEN.split(text.strip()) if one], DELIMITERS[standard]
    if len(listed) != len(names) or not all(map(_HEX.fullmatch, listed)):
        expected = ", ".join(names)
        raise unfit(f"{text[:80]!r} is not a list of delimiters: {len(names)} in hex are needed ({expected})")
    return {name: b"" if one == _NOT_USED else bytes.fromhex(one) for name, one in zip(names, listed, strict=True)}


@lru_cache(maxsize=256)
def codec_of(charset: str) -> str:
    """Return the codec of a charset by any of its names; refuses unknown ones."""
    try:
        if _CHARSET.fullmatch(charset.lower()):
            return codecs.lookup(charset).name
    except LookupError:
        pass
    raise unfit(f"charset {charset[:40]!r} is not supported; use utf-8 or one of ISO 8859")


def unwrap_described(member: Buffer | DescribedDocument) -> tuple[Buffer, Mapping[str, str]]:
    """Return a document's bytes, in UTF-8 if it declares UTF-16 or UTF-32, and the options that it declares."""
    if not isinstance(member, DescribedDocument):
        return member, {}
    return _to_ascii_superset(bytes(member.data), member.options) if member.options else (member.data, {})


def read_by_declaration(
    options: Mapping[str, str], read_declared: Callable[[str], _Document], read_seen: Callable[[], _Document]
) -> _Document:
    """Read a document with its declared delimiters, otherwise with detected ones."""
    if "delimiters" in options:
        return read_declared(options["delimiters"])
    if "earlier_delimiters" in options:
        with suppress(Refused):  # they describe an earlier version of this document
            return read_declared(options["earlier_delimiters"])
    return read_seen()


def _to_ascii_superset(data: bytes, options: Mapping[str, str]) -> tuple[bytes, Mapping[str, str]]:
    """Return the document in UTF-8 if it declares UTF-16 or UTF-32, with its options; else unchanged."""
    charset = options.get("charset", "")
    if not charset or not codec_of(charset).startswith(_WIDE):
        return data, options
    try:
        return data.decode(codec_of(charset)).removeprefix("\ufeff").encode(), {**options, "charset": "utf-8"}
    except UnicodeDecodeError:
        raise unfit(f"it has bytes that are not in its charset, {charset}") from None


def find_declared_charset(data: bytes, options: Mapping[str, str]) -> str:
    """Return the codec of a document with letters beyond ASCII; empty if it declares none."""
    if charset := options.get("charset", ""):
        return codec_of(charset)
    earlier = options.get("earlier_charset", "")
    if not earlier:
        return ""
    codec = codec_of(earlier)
    if codec != "utf-8" and _is_utf_8(data):
        detail = f"its property declares {earlier}, but its bytes are UTF-8; declare the charset in its content type"
        raise unfit(detail)
    return codec


def convert_charset(data: bytes, old: str, new: str) -> bytes:
    """Convert text to another charset; refuses characters that the charset does not have."""
    try:
        text = data.decode(old)
    except UnicodeDecodeError:
        raise unfit(f"it has bytes that are not in its charset, {old}") from None
    try:
        return text.encode(new)
    except UnicodeEncodeError as error:
        letter = text[error.start]
        raise unfit(f"it has the letter {letter!r}, which {new} does not have; use an envelope in UTF-8") from None


def _is_utf_8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return not data.isascii()
