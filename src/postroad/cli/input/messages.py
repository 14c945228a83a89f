"""Messages and documents in files: their bytes, formats and headers, for commands that read them.

A file is a message if it is written as one could be posted: a SOAP envelope, or JSON with the fields of a post.
Anything else is a document, and becomes a message with the given options.

The headers of messages of other systems come from options, from a file beside the message
(``order.dime.content-type``), or from the message itself if it was captured with its head: a request or an answer of
HTTP, or header lines and an empty line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from postroad.core.codecs.json_form import JSON_FORM
from postroad.core.codecs.json_shapes import JsonPost
from postroad.core.codecs.mime import read_entity
from postroad.core.codecs.native_formats import codec_for
from postroad.core.codecs.soap.names import SOAP_11, SOAP_12
from postroad.core.mediation.format_detection import detect_format
from postroad.core.mediation.model import Wire
from postroad.core.model.formats import Format
from postroad.core.model.ids import SESSION
from postroad.core.model.message import Message
from postroad.errors import Misconfigured, Refused

SNIFFED_BYTES = 1_024
ENVELOPES = (SOAP_11.encode(), SOAP_12.encode())


def is_session(text: str) -> bool:
    return SESSION.match(text) is not None


def read_content(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def read_text(file: str) -> str:
    return decode_text(read_content(file), file)


def decode_text(content: bytes, file: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Misconfigured([f"{file}: this is not text in UTF-8"]) from None


def message_from(content: bytes) -> Message | None:
    """Return the message in these bytes, or None when they are only a document."""
    if any(namespace in content[:SNIFFED_BYTES] for namespace in ENVELOPES):
        return codec_for("application/xml", content).decode_post(content)
    if content.lstrip()[:1] == b"{" and _is_post(content):
        return JSON_FORM.decode_post(content)
    return None


def _is_post(content: bytes) -> bool:
    """Return True if every field is a field of a post; the codec checks the values."""
    try:
        fields = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    known = set(JsonPost.__struct_encode_fields__)
    return bool(fields) and set(fields) <= known


BESIDE = ".content-type"
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_START_LINE = re.compile(rb"(?:[A-Z]{3,10} \S{1,2000} HTTP/\d\.\d|HTTP/\d\.\d \d{3}[^\r\n]{0,200})\r?\n")


def read_wire(file: str, content_type: str = "", headers_file: str = "") -> Wire:
    """Read the message in a file; ``-`` is standard input."""
    body = read_content(file)
    headers = _header_lines(headers_file) if headers_file else []
    declared = content_type or _beside(file)
    if declared:
        headers = [*[pair for pair in headers if pair[0] != "content-type"], ("content-type", declared)]
    return _unchunked(Wire(headers, body)) if headers else parse_captured(body)


def _header_lines(file: str) -> list[tuple[str, str]]:
    lines = read_content(file)
    return _lower(read_entity(_START_LINE.sub(b"", lines, count=1).rstrip(b"\r\n") + b"\r\n\r\n").headers())


def _lower(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in headers]


def _beside(file: str) -> str:
    beside = Path(file + BESIDE)
    return beside.read_text().strip() if file != "-" and beside.is_file() else ""


def parse_captured(body: bytes) -> Wire:
    """Split bytes that may begin with an HTTP head or header lines; a plain MIME entity is left as it is."""
    start = _START_LINE.match(body)
    if start is None and body.startswith(b"--"):
        return Wire([], body)  # a boundary, which may look like a header
    try:
        entity = read_entity(body[start.end() if start else 0 :])
    except Refused:
        return Wire([], body)
    inside = _unchunked(Wire(_lower(entity.headers()), bytes(entity.body)))
    is_capture = start is not None or (inside.content_type != "" and detect_format(inside).format is not Format.MIME)
    return inside if is_capture else Wire([], body)


def _unchunked(wire: Wire) -> Wire:
    """Return the body without HTTP/1.1 chunk framing; refuses chunks that cannot be read.

    A body that does not begin with the size of a chunk was joined by the program that captured it.
    """
    if wire.header("transfer-encoding").strip().lower() != "chunked":
        return wire
    rest = [one for one in wire.headers if one[0] != "transfer-encoding"]
    if _CHUNK_SIZE.match(wire.body) is None:
        return Wire(rest, wire.body)
    pieces: list[bytes] = []
    at = 0
    while True:
        line = _CHUNK_SIZE.match(wire.body, at)
        size = int(line[1], 16) if line else -1
        begin = line.end() if line else at
        if line is None or begin + size > len(wire.body):
            raise Refused("wire.malformed", f"byte {at} of the body: a chunk of the chunked HTTP body is incomplete")
        if not size:
            break
        pieces.append(wire.body[begin : begin + size])
        end = _LINE_END.match(wire.body, begin + size)
        if end is None:
            raise Refused("wire.malformed", f"byte {begin + size} of the body: a chunk is not followed by a line end")
        at = end.end()
    return Wire(rest, b"".join(pieces))
