"""The responses of one connection, sent in the order of its requests.

A response that is ready before an earlier one waits for it. Rule: responses that become ready while input is being read
are sent in one write at the end, so that a pipelining client costs one system call and not one per response.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

from postroad.api.http.capacity import Capacity
from postroad.api.http.error_log import log_error
from postroad.api.http.request import FastReply, Headers, ProblemBody
from postroad.api.http.retry_after import SPREAD, RetryAfter
from postroad.api.http.wire import BODILESS, STATUS_LINES, DateLine, connection_line, header_lines, status_line
from postroad.core.metrics.instruments import Counter

COPY_BYTES = 16 * 1024  # below this, one joined buffer is cheaper than two
USUAL = b"%b%bcontent-type: %b\r\ncontent-length: %d\r\n\r\n%b"  # the short form of a response


class Outbox:
    __slots__ = ("_capacity", "_date", "_retry_after", "_sent", "_transport", "corked", "draining", "replies")

    def __init__(
        self,
        transport: asyncio.Transport,
        capacity: Capacity,
        date: DateLine,
        retry_after: RetryAfter,
        sent: Callable[[bool], None],
    ) -> None:
        self._transport = transport
        self._capacity = capacity
        self._date = date
        self._retry_after = retry_after
        self._sent = sent  # called after each flush; True: the connection ends here
        self.corked = False
        self.draining = False
        self.replies: deque[FastReply] = deque()

    def open(self, version: bytes, closes: bool, head_only: bool, asked_at_s: float) -> FastReply:
        reply = FastReply(self, version, closes, head_only, asked_at_s)
        self.replies.append(reply)
        return reply

    def answer(self, reply: FastReply, status: int, body: bytes, content_type: bytes, headers: Headers) -> None:
        if reply.statuses is not None:
            reply.statuses[status // 100].value += 1
        if reply.closed:
            reply.answered = True
            return
        if self.draining and reply is self.replies[-1]:
            reply.closes = True
        if status in SPREAD:
            headers = self._retry_after.add(status, headers)
        reply.wire = self._render(reply, status, body, content_type, headers)
        reply.answered = True
        if reply.body_bytes_held:
            self._capacity.free(reply.body_bytes_held)
            reply.body_bytes_held = 0
        if not self.corked and self.replies[0] is reply:
            self.flush()

    def repeat(self, count: int, status: int, problem: ProblemBody, statuses: Sequence[Counter] | None) -> None:
        """Answer ``count`` requests in a row with the same refusal; its connection stays open."""
        if statuses is not None:
            statuses[status // 100].value += count
        reply = self.open(b"1.1", False, False, 0.0)
        headers = self._retry_after.add(status, ())
        content_type, body = problem
        one = self._render(reply, status, body, content_type, headers)
        reply.wire = list(one) * count if isinstance(one, list) else one * count
        reply.answered = True
        if not self.corked and self.replies[0] is reply:
            self.flush()

    def _render(
        self, reply: FastReply, status: int, body: bytes, content_type: bytes, headers: Headers
    ) -> bytes | list[bytes]:
        if _is_usual(reply, status, body, content_type, headers):
            return USUAL % (STATUS_LINES[status], self._date.line, content_type, len(body), body)
        head = b"%b%b%b%b" % (
            STATUS_LINES.get(status) or status_line(status),
            self._date.line,
            header_lines(headers) if headers else b"",
            connection_line(reply.version, reply.closes) if reply.closes or reply.version != b"1.1" else b"",
        )
        if status in BODILESS:
            return [head + b"\r\n"]
        kind = b"content-type: %b\r\n" % content_type if content_type else b""
        head = b"%b%bcontent-length: %d\r\n\r\n" % (head, kind, len(body))
        if reply.head_only or not body:
            return [head]
        return [head + body] if len(body) < COPY_BYTES else [head, body]

    def flush(self) -> None:
        """Send all responses that are ready in order."""
        replies, closes = self.replies, False
        if len(replies) == 1 and isinstance(only := replies[0].wire, bytes):
            replies.clear()
            self._transport.write(only)
            self._sent(False)  # the short form never ends the connection
            return
        parts: list[bytes] = []
        while replies and (wire := replies[0].wire) is not None:
            closes = replies.popleft().closes
            if isinstance(wire, bytes):
                parts.append(wire)
            else:
                parts += wire
        if not parts:
            return
        if len(parts) == 1:
            self._transport.write(parts[0])
        else:
            self._transport.writelines(parts)
        self._sent(closes)

    def lose(self) -> None:
        """Notify every pending reply that the client has disconnected."""
        lost, self.replies = list(self.replies), deque()
        for reply in lost:
            held, reply.body_bytes_held = reply.body_bytes_held, 0
            self._capacity.free(held)
            try:
                reply.disconnect()
            except Exception as error:
                log_error(b"on_disconnect", b"", error)


def _is_usual(reply: FastReply, status: int, body: bytes, content_type: bytes, headers: Headers) -> bool:
    """Whether the short form of a response is possible: no extra headers, no connection header, a short body."""
    plain = not (headers or reply.closes or reply.head_only) and reply.version == b"1.1"
    return (
        plain and status in STATUS_LINES and status not in BODILESS and len(body) < COPY_BYTES and content_type != b""
    )
