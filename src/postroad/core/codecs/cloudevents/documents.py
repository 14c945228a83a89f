"""The document of an event in JSON: as the JSON value that it is, as text, or as Base64; whichever keeps its bytes.

Rule: what ``read_document`` gives is what ``write_document`` was given, to the byte.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Mapping

import msgspec
from msgspec import Raw

from postroad.core.codecs.json_nesting import can_stand_inside
from postroad.core.codecs.lexical import read_base64
from postroad.core.codecs.limits import DEFAULT_LIMITS
from postroad.core.codecs.media import media_type_of, parameter_of
from postroad.core.codecs.parts import is_xml
from postroad.core.codecs.refusals import malformed

_LEVELS = DEFAULT_LIMITS.json_depth - 2  # leaves room for the event and the batch around it
DATA, DATA_BASE64 = "data", "data_base64"
_STRING = msgspec.json.Decoder(str)
_TEXTS = ("text/", "application/edi", "application/x-www-form-urlencoded")
_CHARSETS = {
    "": "utf-8", "utf-8": "utf-8", "utf8": "utf-8", "us-ascii": "ascii", "ascii": "ascii", "iso-8859-1": "latin-1",
    "windows-1252": "cp1252", "utf-16": "utf-16", "utf-16le": "utf-16-le", "utf-16be": "utf-16-be",
}  # fmt: skip


def is_json_type(content_type: str) -> bool:
    """Return True if CloudEvents define the content type as JSON: any type named json or ending in +json."""
    subtype = media_type_of(content_type).partition("/")[2]
    return subtype == "json" or subtype.endswith("+json")


def read_document(members: Mapping[str, Raw], content_type: str, pointer: str) -> bytes | None:
    """The document that the members ``data`` or ``data_base64`` hold; without a content type, ``data`` is JSON."""
    data, base64 = bytes(members.get(DATA, b"")), bytes(members.get(DATA_BASE64, b"null"))
    if base64 != b"null":
        if data:
            raise malformed("an event has data or data_base64, not both", f"{pointer}/{DATA}")
        return read_base64(_string(base64, f"{pointer}/{DATA_BASE64}"), f"{pointer}/{DATA_BASE64}")
    if not data or (data == b"null" and content_type and not is_json_type(content_type)):
        return None
    if not content_type or is_json_type(content_type):
        return data
    return _encoded(_string(data, f"{pointer}/{DATA}"), content_type, f"{pointer}/{DATA}")


def _string(raw: bytes, pointer: str) -> str:
    try:
        return _STRING.decode(raw)
    except msgspec.DecodeError:
        raise malformed("this must be text, unless the datacontenttype declares JSON", pointer) from None


def _encoded(text: str, content_type: str, pointer: str) -> bytes:
    try:
        return text.encode(_CHARSETS[_charset(content_type)])
    except (KeyError, UnicodeEncodeError):
        said = f"the text cannot be written as {content_type[:80]}; send data_base64 instead"
        raise malformed(said, pointer) from None


def _charset(content_type: str) -> str:
    return parameter_of(content_type, "charset").lower()


def write_document(data: bytes | None, content_type: str) -> dict[str, str | Raw]:
    """The member for the document, if there is one."""
    if data is None:
        return {}
    if is_json_type(content_type) and can_stand_inside(data, _LEVELS):
        return {DATA: Raw(data)}
    text = _decoded(data, content_type)
    return {DATA_BASE64: b2a_base64(data, newline=False).decode()} if text is None else {DATA: text}


def _decoded(data: bytes, content_type: str) -> str | None:
    """Return a text that encodes to exactly these bytes, or None."""
    charset = _CHARSETS.get(_charset(content_type))
    media_type = media_type_of(content_type)
    if charset is None or is_json_type(content_type) or not (media_type.startswith(_TEXTS) or is_xml(media_type)):
        return None
    try:
        text = data.decode(charset)
    except UnicodeDecodeError:
        return None
    return text if text.encode(charset) == data else None
