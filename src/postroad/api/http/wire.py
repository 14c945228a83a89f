"""Writes the head of a response as bytes.

Rule: external input can never end a header line early. A name or value with CR, LF or NUL is a programming error,
raised before a byte is sent.
"""

from __future__ import annotations

from email.utils import formatdate
from http import HTTPStatus

from postroad.api.http.request import Headers

STATUS_LINES: dict[int, bytes] = {s.value: f"HTTP/1.1 {s.value} {s.phrase}\r\n".encode() for s in HTTPStatus}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
BODILESS = frozenset({204, 304})


class DateLine:
    """The ``date`` header, updated once a second by the server's timer instead of for every response."""

    __slots__ = ("line",)

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self.line = b"date: " + formatdate(usegmt=True).encode() + b"\r\n"


def status_line(status: int) -> bytes:
    return STATUS_LINES.get(status) or b"HTTP/1.1 %d \r\n" % status


def header_lines(headers: Headers) -> bytes:
    block = b"".join([b"%b: %b\r\n" % pair for pair in headers])
    if block.count(b"\r") != len(headers) or block.count(b"\n") != len(headers) or b"\0" in block:
        raise ValueError(
            "a response header contains CR, LF or NUL; check values that come from outside before they are set"
        )
    return block


def connection_line(version: bytes, closes: bool) -> bytes:
    if closes:
        return b"connection: close\r\n"
    return b"connection: keep-alive\r\n" if version == b"1.0" else b""
