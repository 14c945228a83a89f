"""Reads the response to one request without trusting any of it.

Rules: memory is bounded whatever arrives. A success counts only after the whole response was read, because it may
contain a message. For a failure the status is enough, so its body is cut and may be incomplete.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import httptools

from postroad.adapters.transport.no_answer import ClosedUnanswered, NoAnswer
from postroad.core.delivery.reasons import make_reason

HEAD_BYTES = 32 << 10
HEAD_FIELDS = 100
FAILURE_BYTES = 4 << 10  # stored of the body of a failed response
OVERHEAD = 8  # maximum bytes on the wire per byte of body: single-byte chunks need 6


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiverResponse:
    """The response as received; header names are in lower case, and the last of several with one name counts in ``headers``."""

    status: int
    headers: dict[str, str]
    fields: tuple[tuple[str, str], ...] = ()  # all fields in order: a list may be split into several
    body: bytes = field(repr=False)


class ResponseReader:
    """Parses the bytes of a connection; ``answer`` is set once nothing more needs to be read."""

    def __init__(self, body_bytes: int) -> None:
        self.answer: ReceiverResponse | None = None
        self.reusable = False  # the response ended exactly, and the receiver keeps the connection open
        self._success_bytes = body_bytes
        self._parser = httptools.HttpResponseParser(self)
        self._headers: list[tuple[str, str]] = []
        self._fields = 0
        self._body = bytearray()
        self._received = 0
        self._status: int | None = None  # of the final response, once its head is complete

    def feed(self, data: bytes) -> None:
        """Parse received bytes; raises NoAnswer if they cannot become a valid response."""
        if self.answer is not None:
            self.reusable = False
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            raise NoAnswer(make_reason("push.protocol-switch")) from None
        except httptools.HttpParserError:
            self._broken()
        if self.answer is None:
            self._check_limits()

    def finish(self) -> ReceiverResponse:
        """Return the response after the receiver closed its side; raises NoAnswer if it is incomplete."""
        delimited = any(name in ("content-length", "transfer-encoding") for name, _ in self._headers)
        if self._status is not None and not delimited:
            return self._made(self._status)
        return self.broken_off()

    def broken_off(self) -> ReceiverResponse:
        """Return the response after a disconnect; raises NoAnswer unless it is a failure with a known status."""
        if self._status is not None and not _is_success(self._status):
            return self._made(self._status)
        if not self._received:
            raise ClosedUnanswered(make_reason("push.closed"))
        raise NoAnswer(make_reason("push.cut-short"))

    def find_response(self) -> ReceiverResponse | None:
        """Return the response as far as it is known when time runs out."""
        return self._made(self._status) if self._status is not None and not _is_success(self._status) else None

    # -------------------------------------------------------------------------------------------- called by the parser
    def on_message_begin(self) -> None:
        self._headers.clear()
        self.reusable = False  # an unrequested second response

    def on_header(self, name: bytes, value: bytes) -> None:
        self._fields += 1
        if self._status is None and self._fields <= HEAD_FIELDS:
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1").strip()))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if self.answer is None and status >= 200:
            self._status = status

    def on_body(self, data: bytes) -> None:
        room = self._limit + 1 - len(self._body)
        if room > 0:
            self._body += data[:room]

    def on_message_complete(self) -> None:
        if self._status is not None and self.answer is None and len(self._body) <= self._limit:
            self.reusable = self._parser.should_keep_alive()
            self.answer = self._made(self._status)

    # ------------------------------------------------------------------------------------------------------- decisions
    @property
    def _limit(self) -> int:
        return self._success_bytes if self._status is None or _is_success(self._status) else FAILURE_BYTES

    def _broken(self) -> None:
        """Handle unparseable bytes; after the response they only make the connection unusable."""
        self.reusable = False
        if self.answer is None:
            self.answer = self.find_response()
        if self.answer is None:
            raise NoAnswer(make_reason("push.not-http"))

    def _check_limits(self) -> None:
        if self._status is None:
            if self._received > HEAD_BYTES or self._fields > HEAD_FIELDS:
                raise NoAnswer(make_reason("push.head-too-long", bytes=HEAD_BYTES, fields=HEAD_FIELDS))
            return
        if len(self._body) <= self._limit and self._received <= HEAD_BYTES + OVERHEAD * self._limit:
            return
        if _is_success(self._status):
            raise NoAnswer(make_reason("push.answer-too-long", bytes=self._limit))
        self.answer = self._made(self._status)

    def _made(self, status: int) -> ReceiverResponse:
        body = bytes(self._body[: self._limit])
        return ReceiverResponse(status=status, headers=dict(self._headers), fields=tuple(self._headers), body=body)


def _is_success(status: int) -> bool:
    return 200 <= status < 300
