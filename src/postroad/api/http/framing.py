"""Finds the end of a request body: by a known length, or by chunks.

Both readers take bytes in any portions, and separate the body from what follows it. Rule for chunks: only the
strictest reading of RFC 9112 is accepted. Every line ends with CRLF; a size has no sign, blank or prefix; trailers
are read, limited and dropped. Framing may never outweigh content; otherwise tiny chunks could waste the server's
time.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Protocol

from postroad.errors import Refused

CHUNK_LINE_BYTES = 256
OVERHEAD_BYTES = 16 * 1024
TRAILER_BYTES = 8 * 1024
TRAILER_LINE = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*")
SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;[\t\x20-\x7e\x80-\xff]*)?")
FORBIDDEN_TRAILERS = (b"content-length:", b"transfer-encoding:", b"host:")


class FramedContent(NamedTuple):
    content: bytes
    rest: bytes
    complete: bool


class Framing(Protocol):
    def take(self, data: bytes) -> FramedContent:
        """Separate the content from what follows it, and report whether the body is complete. Raises ``Refused``."""


class LengthFraming:
    __slots__ = ("remaining",)

    def __init__(self, length: int) -> None:
        self.remaining = length

    def take(self, data: bytes) -> FramedContent:
        content = data[: self.remaining]
        self.remaining -= len(content)
        return FramedContent(content, data[len(content) :], self.remaining == 0)


class ChunkedFraming:
    __slots__ = ("_content_bytes", "_held", "_in_trailers", "_limit", "_overhead", "_remaining", "_trailer_bytes")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._content_bytes = 0
        self._overhead = 0
        self._remaining = 0  # bytes of the current chunk, including its CRLF
        self._held = b""  # an incomplete size line, chunk end or trailer line
        self._in_trailers = False
        self._trailer_bytes = 0

    def take(self, data: bytes) -> FramedContent:
        pieces: list[bytes] = []
        data, position = self._held + data, 0
        while not self._in_trailers:
            start = position
            position = self._take_chunk(data, position, pieces) if self._remaining else self._take_size(data, position)
            if position == start:
                break
        if self._in_trailers:
            position, complete = self._take_trailers(data, position)
            if complete:
                return FramedContent(b"".join(pieces), data[position:], True)
        self._held = data[position:]
        return FramedContent(b"".join(pieces), b"", False)

    def _take_size(self, data: bytes, position: int) -> int:
        end = self._line_end(data, position, CHUNK_LINE_BYTES)
        if end < 0:
            return position
        match = SIZE_LINE.fullmatch(data, position, end)
        if match is None:
            raise Refused("request.malformed", "a chunk does not start with its size in hexadecimal")
        size = int(match[1], 16)
        self._weigh(end + 2 - position, size)
        self._in_trailers = size == 0
        self._remaining = size + 2 if size else 0
        return end + 2

    def _weigh(self, line_bytes: int, size: int) -> None:
        self._content_bytes += size
        if self._content_bytes > self._limit:
            raise Refused("wire.too-large", f"send at most {self._limit} bytes here")
        self._overhead += line_bytes + 2
        if self._overhead > OVERHEAD_BYTES + self._content_bytes:
            raise Refused("request.malformed", "the chunks are too small; send more content in each")

    def _take_chunk(self, data: bytes, position: int, pieces: list[bytes]) -> int:
        wanted = self._remaining - 2
        if wanted > 0:
            piece = data[position : position + wanted]
            if not piece:
                return position
            pieces.append(piece)
            self._remaining -= len(piece)
            return position + len(piece)
        end = data[position : position + 2]
        if not b"\r\n".startswith(end):
            raise Refused("request.malformed", "a chunk is not followed by CRLF")
        if len(end) < 2:
            return position
        self._remaining = 0
        return position + 2

    def _take_trailers(self, data: bytes, position: int) -> tuple[int, bool]:
        while (end := self._line_end(data, position, TRAILER_BYTES)) >= 0:
            line, position = data[position:end], end + 2
            if not line:
                return position, True
            self._trailer_bytes += len(line) + 2
            if self._trailer_bytes > TRAILER_BYTES:
                raise Refused("request.header-too-large", f"keep the trailers within {TRAILER_BYTES} bytes")
            if not TRAILER_LINE.fullmatch(line) or line.lower().startswith(FORBIDDEN_TRAILERS):
                raise Refused("request.malformed", "a trailer is not valid")
        return position, False

    @staticmethod
    def _line_end(data: bytes, position: int, limit: int) -> int:
        end = data.find(b"\n", position, position + limit)
        if end < 0:
            if len(data) - position >= limit:
                raise Refused("request.malformed", f"a line between chunks is longer than {limit} bytes")
            return -1
        if end == position or data[end - 1] != 0x0D:
            raise Refused("request.malformed", "end every line with CRLF")
        return end - 1
