"""Messages of others in files, for commands that look at them: their bytes, and what is known of the headers they came under.

Those are said by options, by a file beside the message (``order.dime.content-type``), or by the message itself where it was
captured with its head: a request or an answer of HTTP, or header lines and an empty line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from postroad.cli.message_files import content_of
from postroad.core.codecs.mime import read_entity
from postroad.core.mediation.looking import look
from postroad.core.mediation.nouns import Wire
from postroad.core.model.formats import Format
from postroad.errors import Refused

BESIDE = ".content-type"
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")
_LINE_END = re.compile(rb"\r?\n")
_START_LINE = re.compile(rb"(?:[A-Z]{3,10} \S{1,2000} HTTP/\d\.\d|HTTP/\d\.\d \d{3}[^\r\n]{0,200})\r?\n")


def wire_in(file: str, content_type: str = "", headers_file: str = "") -> Wire:
    """The message in a file; ``-`` is standard input."""
    body = content_of(file)
    headers = _header_lines(headers_file) if headers_file else []
    declared = content_type or _beside(file)
    if declared:
        headers = [*[pair for pair in headers if pair[0] != "content-type"], ("content-type", declared)]
    return _unchunked(Wire(headers, body)) if headers else captured(body)


def _header_lines(file: str) -> list[tuple[str, str]]:
    lines = content_of(file)
    return _lower(read_entity(_START_LINE.sub(b"", lines, count=1).rstrip(b"\r\n") + b"\r\n\r\n").headers())


def _lower(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name.lower(), value) for name, value in headers]


def _beside(file: str) -> str:
    beside = Path(file + BESIDE)
    return beside.read_text().strip() if file != "-" and beside.is_file() else ""


def captured(body: bytes) -> Wire:
    """Bytes that may have their head before them. What is nothing more than a MIME entity is left as it is."""
    start = _START_LINE.match(body)
    if start is None and body.startswith(b"--"):
        return Wire([], body)  # a boundary, which may look like a header
    try:
        entity = read_entity(body[start.end() if start else 0 :])
    except Refused:
        return Wire([], body)
    inside = _unchunked(Wire(_lower(entity.headers()), bytes(entity.body)))
    is_capture = start is not None or (inside.content_type != "" and look(inside).format is not Format.MIME)
    return inside if is_capture else Wire([], body)


def _unchunked(wire: Wire) -> Wire:
    """The body without the chunks in which HTTP/1.1 sent it; refuses chunks that cannot be read.

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
            raise Refused("wire.malformed", f"byte {at} of the body: the chunk of a chunked HTTP body is not whole")
        if not size:
            break
        pieces.append(wire.body[begin : begin + size])
        end = _LINE_END.match(wire.body, begin + size)
        if end is None:
            raise Refused("wire.malformed", f"byte {begin + size} of the body: no line end follows a chunk")
        at = end.end()
    return Wire(rest, b"".join(pieces))
