"""Characters and bytes of flat files, EBCDIC included.

Rule: a character that the charset lacks is refused, never replaced.
"""

from __future__ import annotations

from postroad.core.interchange.assembly_errors import unfit_value

_CODECS = {
    "ascii": "ascii", "us-ascii": "ascii", "utf-8": "utf-8", "utf8": "utf-8",
    "iso-8859-1": "latin-1", "latin-1": "latin-1", "iso-8859-15": "iso8859-15", "windows-1252": "cp1252", "cp1252": "cp1252",
    "cp850": "cp850", "cp437": "cp437",
    "cp037": "cp037", "cp273": "cp273", "cp500": "cp500", "cp1026": "cp1026", "cp1140": "cp1140", "cp1047": "cp1047",
}  # fmt: skip
EBCDIC = frozenset(("cp037", "cp273", "cp500", "cp1026", "cp1140", "cp1047"))

# Python has no codec for cp1047 (z/OS UNIX): it is cp037 with six characters swapped.
_SWAPPED = {0x5F: 0xB0, 0xB0: 0x5F, 0xAD: 0xBA, 0xBA: 0xAD, 0xBB: 0xBD, 0xBD: 0xBB}
_BETWEEN_1047_AND_037 = bytes(_SWAPPED.get(byte, byte) for byte in range(256))
_LINE_ENDS = {0x15: 0x25, 0x25: 0x15}
_NEW_LINES = bytes(_LINE_ENDS.get(byte, byte) for byte in range(256))


def charset_of(name: str) -> str:
    """Return the name of the codec; refuses charsets that flat files do not support."""
    codec = _CODECS.get(name.lower().replace("ibm", "cp").replace("_", "-"))
    if codec is None:
        raise unfit_value("charset", f"{name!r} is not one of {', '.join(_CODECS)}")
    return codec


def encode_text(text: str, codec: str) -> bytes:
    """Encode text; in EBCDIC, a line feed becomes a new line (0x15), unlike in Python's cp037. May raise UnicodeError."""
    if codec not in EBCDIC:
        return text.encode(codec)
    raw = text.encode("cp037").translate(_BETWEEN_1047_AND_037) if codec == "cp1047" else text.encode(codec)
    return raw.translate(_NEW_LINES)


def decode_text(raw: bytes, codec: str) -> str:
    if codec not in EBCDIC:
        return raw.decode(codec)
    raw = raw.translate(_NEW_LINES)
    return raw.translate(_BETWEEN_1047_AND_037).decode("cp037") if codec == "cp1047" else raw.decode(codec)
