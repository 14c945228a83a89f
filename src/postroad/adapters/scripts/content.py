"""A message's content as scripts may read it: its text, and whether that is JSON or XML.

Rule: content that is too large for every script (bytes, values, elements) is never read in a worker, so that no
script is blamed for the message. Such a message has its header but no content; a script that reads the content gets
the reason as an error.
"""

from __future__ import annotations

import re

from postroad.adapters.scripts.frames import ScriptMessage, Shape
from postroad.core.codecs.xml import to_utf8
from postroad.errors import Refused

LARGEST_CONTENT_BYTES = 4 * 1024 * 1024
MOST_VALUES = 200_000
MOST_ELEMENTS = 20_000

_CHARSET = re.compile(r';\s*charset\s*=\s*"?([\w.:-]+)', re.IGNORECASE)
_CODECS = {
    "utf-8": "utf-8-sig", "utf8": "utf-8-sig", "us-ascii": "ascii", "ascii": "ascii", "utf-16": "utf-16",
    "iso-8859-1": "latin-1", "latin1": "latin-1", "windows-1252": "cp1252", "cp1252": "cp1252",
}  # fmt: skip
_XML_STARTS = (b"<", b"\xef\xbb\xbf<", b"\xff\xfe<\x00", b"\xfe\xff\x00<", b"<\x00", b"\x00<")


def read_content(content: bytes, media_type: str) -> ScriptMessage:
    """The content without a header."""
    if len(content) > LARGEST_CONTENT_BYTES:
        fault = f"it has {len(content)} bytes; scripts can read at most {LARGEST_CONTENT_BYTES}"
        return ScriptMessage(media_type=media_type, fault=fault)
    shape = _shape(content, media_type)
    if shape != "xml":
        return _told(content, media_type, shape)
    try:
        text = to_utf8(content).decode()
    except (Refused, UnicodeDecodeError) as fault:
        return _told(content, media_type, "", _words(fault))
    return _limited(text, media_type, shape)


def _told(content: bytes, media_type: str, shape: Shape, why: str = "") -> ScriptMessage:
    """Decodes the content in the charset of its content type; ``why`` explains content that is not parsed."""
    try:
        text = _decoded(content, media_type)
    except (UnicodeDecodeError, LookupError) as fault:
        return ScriptMessage(media_type=media_type, fault=why or _words(fault))
    return ScriptMessage(text=text, media_type=media_type, fault=why) if why else _limited(text, media_type, shape)


def _limited(text: str, media_type: str, shape: Shape) -> ScriptMessage:
    too_much = _too_much(text, shape)
    return ScriptMessage(text=text, shape="" if too_much else shape, media_type=media_type, fault=too_much)


def _shape(content: bytes, media_type: str) -> Shape:
    name = media_type.partition(";")[0].strip().lower()
    if name.endswith(("/json", "+json")):
        return "json"
    return "xml" if name.endswith(("/xml", "+xml")) or content.lstrip().startswith(_XML_STARTS) else ""


def _decoded(content: bytes, media_type: str) -> str:
    named = _CHARSET.search(media_type)
    charset = named[1].lower() if named else "utf-8"
    if charset not in _CODECS:
        raise LookupError(f"the character set {charset[:40]} is not supported")
    return content.decode(_CODECS[charset])


def _too_much(text: str, shape: Shape) -> str:
    if shape == "json" and sum(map(text.count, ",[{")) > MOST_VALUES:
        return f"it may have more than the {MOST_VALUES} values that scripts can read"
    if shape == "xml" and text.count("<") - text.count("</") > MOST_ELEMENTS:
        return f"it may have more than the {MOST_ELEMENTS} elements that scripts can read"
    return ""


def _words(fault: Exception) -> str:
    if isinstance(fault, UnicodeDecodeError):
        return f"byte {fault.start} is not a character in {fault.encoding}"
    return fault.detail if isinstance(fault, Refused) else str(fault.args[0])
