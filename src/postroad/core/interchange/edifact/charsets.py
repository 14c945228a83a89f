"""Character sets by the syntax identifier of UNB (0001).

Rule: bytes are passed on unchanged; a charset matters only when text is written, converted or reported as wrong.
"""

from __future__ import annotations

from codecs import lookup

CHARSETS = {
    "UNOA": "ascii",
    "UNOB": "ascii",
    "UNOC": "iso8859-1",
    "UNOD": "iso8859-2",
    "UNOE": "iso8859-5",
    "UNOF": "iso8859-7",
    "UNOG": "iso8859-3",
    "UNOH": "iso8859-4",
    "UNOI": "iso8859-6",
    "UNOJ": "iso8859-8",
    "UNOK": "iso8859-9",
    "UNOW": "utf-8",
    "UNOX": "ascii",  # other letters use escape sequences, in which the byte of a delimiter can be half a letter
    "UNOY": "utf-8",
}
ESCAPE = b"\x1b"
ESCAPES = "UNOX"


def charset_of(syntax: str) -> str:
    """Return the codec of a syntax identifier; a single-byte codec for those of industries (IATA, ANSI …)."""
    return CHARSETS.get(syntax, "latin-1")


def codec_of_syntax(syntax: str) -> str:
    """Return the name of the Python codec; empty for a syntax identifier of an industry, whose charset is unknown."""
    return lookup(CHARSETS[syntax]).name if syntax in CHARSETS else ""


def is_in_charset(data: bytes, syntax: str) -> bool:
    if data.isascii():
        return True
    try:
        data.decode(charset_of(syntax))
    except UnicodeDecodeError:
        return False
    return True
