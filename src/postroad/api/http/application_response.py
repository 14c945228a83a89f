"""Writes the bytes of an application's response: one head, and a counted, chunked or close-delimited body.

Rule: the body matches the head. More body than announced is an error of the application; after less, the connection
is closed. Framing headers are ours: the application's ``transfer-encoding`` and ``connection`` are dropped.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.api.http.head import RequestHead
from postroad.api.http.retry_after import SPREAD, RetryAfter
from postroad.api.http.wire import BODILESS, DateLine, connection_line, header_lines, status_line

OURS = frozenset({b"connection", b"transfer-encoding", b"keep-alive", b"date"})


class ApplicationResponse:
    __slots__ = ("_chunked", "_date", "_has_body", "_head", "_headers", "_promised", "_retry_after", "_status", "_written",
                 "finished", "keeps_connection", "sent")  # fmt: skip

    def __init__(self, head: RequestHead, date: DateLine, retry_after: RetryAfter) -> None:
        self._head = head
        self._date = date
        self._retry_after = retry_after
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._promised: int | None = None
        self._written = 0
        self._chunked = False
        self._has_body = True
        self.keeps_connection = bool(head.keep_alive)
        self.sent = False  # some bytes were sent
        self.finished = False

    def start(self, status: int, headers: Iterable[tuple[bytes, bytes]], *, closes: bool) -> None:
        """Store the head, which is sent in one write with the first piece of the body."""
        if self._status:
            raise RuntimeError("the application has started its answer twice")
        named = [(bytes(name).lower(), bytes(value)) for name, value in headers]
        if closes or (b"connection", b"close") in named:
            self.keeps_connection = False
        kept = [pair for pair in named if pair[0] not in OURS]
        self._headers = list(self._retry_after.add(status, kept)) if status in SPREAD else kept
        self._promised = next((int(value) for name, value in named if name == b"content-length"), None)
        self._has_body = self._head.method != b"HEAD" and status not in BODILESS
        header_lines(self._headers)  # raises here for a value that cannot be sent
        self._status = status

    def body(self, piece: bytes, *, more: bool) -> bytes:
        if not self._status or self.finished:
            raise RuntimeError("the application sent a piece of an answer that it has not started, or has finished")
        head = b"" if self.sent else self._start_bytes(len(piece), more)
        self._count(len(piece))
        self.sent, self.finished = True, not more
        if not self._has_body:
            return head
        if not more and self._promised is not None and self._written < self._promised:
            self.keeps_connection = False
        return head + (self._as_chunk(piece, more) if self._chunked else piece)

    def _count(self, size: int) -> None:
        self._written += size
        if self._has_body and self._promised is not None and self._written > self._promised:
            raise RuntimeError("the application sent more than the content-length that it gave")

    def _start_bytes(self, first_size: int, more: bool) -> bytes:
        length = b""
        if self._promised is None and self._status not in BODILESS:
            if not more and (self._has_body or first_size):
                self._promised, length = first_size, b"content-length: %d\r\n" % first_size
            elif self._has_body and self._head.version == b"1.1":
                self._chunked, length = True, b"transfer-encoding: chunked\r\n"
            elif self._has_body:
                self.keeps_connection = False  # the body ends with the connection
        ending = connection_line(self._head.version, not self.keeps_connection)
        return b"%b%b%b%b%b\r\n" % (
            status_line(self._status),
            self._date.line,
            header_lines(self._headers),
            length,
            ending,
        )

    @staticmethod
    def _as_chunk(piece: bytes, more: bool) -> bytes:
        chunk = b"%x\r\n%b\r\n" % (len(piece), piece) if piece else b""
        return chunk if more else chunk + b"0\r\n\r\n"
