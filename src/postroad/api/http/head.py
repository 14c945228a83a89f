"""Reads one complete request head: request line and headers up to the empty line.

httptools (llhttp in strict mode) parses; this module validates the result. Rule: a head that two servers could
understand differently is refused, so that a proxy in front of the server never disagrees with it about where a
message ends. A head is parsed only when it is complete, so the way it was split into packets cannot change the
result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import httptools

from postroad.api.http.limits import HttpLimits
from postroad.api.http.proxy import FORWARDED
from postroad.core.telemetry.trace_context import PLAIN_CHARS, pack_context, pack_plain
from postroad.errors import Refused

METHODS = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"})
FRAMING = frozenset({b"content-length", b"transfer-encoding", b"host", b"expect", b"connection", b"upgrade"})
PARSED_HEADERS = FRAMING | FORWARDED
VERSIONS = (b"HTTP/1.1\r\n", b"HTTP/1.0\r\n")
QUESTION_MARK, HASH, SLASH = b"?#/"
END = b"\r\n\r\n"
REMEMBERED_BYTES = 1024
PLAIN_LINES = (b"\r\ntraceparent: ", b"\r\nTraceparent: ")
TRACE_LINE = re.compile(rb"\r\n([Tt]race(?:parent|state)): ?([!-~][ -~]*)(?=\r\n(?![ \t]))")


class RequestHead:
    """A parsed request head with the fields that the server itself uses. httptools calls ``on_header``."""

    query = b""
    content_length = 0
    chunked = False
    expects_continue = False
    keep_alive: bool | None = None
    upgrade = b""
    hosts = 0
    trace = b""  # the W3C trace context, packed; empty if there is none that is valid
    forwarded: tuple[
        tuple[bytes, bytes], ...
    ] = ()  # headers that only a trusted proxy may send; kept apart from the others

    def __init__(self, method: bytes, target: bytes, version: bytes) -> None:
        self.method = method
        self.path = target
        self.version = version
        self.headers: list[tuple[bytes, bytes]] = []
        self.memo: dict[str, Any] = {}

    def with_trace(self, context: Sequence[tuple[bytes, bytes]]) -> RequestHead:
        """Return this head with the headers of a trace context, which differ in every request; the memo is shared."""
        return self.with_packed_trace(context, read_trace(context))

    def with_packed_trace(self, context: Sequence[tuple[bytes, bytes]], trace: bytes) -> RequestHead:
        head = RequestHead.__new__(RequestHead)
        head.__dict__ = self.__dict__.copy()
        head.headers = [*self.headers, *context]
        head.trace = trace
        return head

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self.headers.append((name, value))
        if name in PARSED_HEADERS:
            if name == b"host":
                self.hosts += 1
            elif name == b"content-length":
                self.content_length = int(value)
            elif name in FORWARDED:
                self.forwarded += (self.headers.pop(),)
            else:
                self._note(name, value.strip().lower())

    def _note(self, name: bytes, value: bytes) -> None:
        if name == b"connection":
            self._note_connection(value)
        elif name == b"transfer-encoding":
            if value != b"chunked":
                raise Refused(
                    "request.not-implemented",
                    "send the body with Content-Length, or with Transfer-Encoding: chunked alone",
                )
            self.chunked = True
        elif name == b"expect":
            if value != b"100-continue":
                raise Refused("request.not-implemented", "the only expectation supported is 100-continue")
            self.expects_continue = True
        else:
            self.upgrade = value

    def _note_connection(self, value: bytes) -> None:
        options = {option.strip() for option in value.split(b",")}
        if b"close" in options:
            self.keep_alive = False
        elif b"keep-alive" in options and self.keep_alive is None:
            self.keep_alive = True


def read_trace(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return the packed trace context of a request; empty if it has none, several or an invalid one."""
    parents = [value for name, value in headers if name == b"traceparent"]
    if len(parents) != 1:
        return b""
    state = b",".join([value for name, value in headers if name == b"tracestate"])
    return pack_context(parents[0].decode("latin-1"), state.decode("latin-1"))


class TracePlace(NamedTuple):
    """Where a client writes its ``traceparent``: the bytes of its heads before and after the value."""

    before: bytes
    after: bytes
    length: int  # of a whole head with a value of the usual length


def find_trace_place(raw: bytes, known: bytes) -> TracePlace | None:
    """Return where the ``traceparent`` is if ``raw`` is ``known`` but for one line with a plain one."""
    for line in PLAIN_LINES:
        at = raw.find(line)
        before, end = at + len(line), at + len(line) + PLAIN_CHARS
        is_alone = at >= 0 and raw[:at] == known[:at] and raw[end:] == known[at:]
        if is_alone and known[at : at + 2] == b"\r\n" and known[at + 2] not in b" \t":
            return TracePlace(raw[:before], raw[end:], len(raw))
    return None


def cut_trace(raw: bytes) -> tuple[bytes, Sequence[tuple[bytes, bytes]]]:
    """Return the head without its trace context, and that context as headers.

    Only lines of printable characters are cut out, and only if each header occurs once and is not continued on the
    next line; a head with others is parsed as it is.
    """
    lower = raw.lower()
    if lower.count(b"\ntraceparent:") != 1 or lower.count(b"\ntracestate:") > 1:
        return raw, ()
    found = [(name.lower(), value.rstrip(b" ")) for name, value in TRACE_LINE.findall(raw)]
    return (TRACE_LINE.sub(b"", raw), found) if found else (raw, ())


def head_end(pending: bytes, limits: HttpLimits) -> int:
    """Return the end of the head, or -1 if it is incomplete. Checks sizes before anything is parsed."""
    line_end = pending.find(b"\r\n", 0, limits.request_line_bytes + 2)
    if line_end < 0 and len(pending) > limits.request_line_bytes + 1:
        raise Refused("request.target-too-long", f"keep the request line within {limits.request_line_bytes} bytes")
    end = pending.find(END, line_end) if line_end >= 0 else -1
    header_bytes = (end if end >= 0 else len(pending) - len(END)) - line_end
    if line_end >= 0 and header_bytes > limits.header_bytes:
        raise Refused("request.header-too-large", f"keep the headers within {limits.header_bytes} bytes")
    return end + len(END) if end >= 0 else -1


def read_head(raw: bytes, limits: HttpLimits) -> RequestHead:
    """Parse ``raw``, a complete head with its empty line, as found by ``head_end``."""
    if raw.count(b"\n") - 2 > limits.header_count:
        raise Refused("request.header-too-large", f"send at most {limits.header_count} headers")
    method, target, version = _request_line(raw)
    head = RequestHead(method, target, version)
    _parse(head, raw)
    if raw.find(b" \r\n") >= 0 or raw.find(b"\t\r\n") >= 0:  # rare, so searched once instead of stripped from each
        head.headers = [(name, value.rstrip(b" \t")) for name, value in head.headers]
    head.trace = read_trace(head.headers)
    if head.hosts != 1 or version != b"1.1" or head.upgrade:
        _check_framing(head)
    if head.keep_alive is None:
        head.keep_alive = version == b"1.1"
    if QUESTION_MARK in target or HASH in target or target[0] != SLASH:
        _split_target(head, target)
    return head


def _request_line(raw: bytes) -> tuple[bytes, bytes, bytes]:
    words = raw.split(b" ", 2)
    if len(words) == 3 and words[0] in METHODS and words[2].startswith(VERSIONS) and words[1] and b"\n" not in words[1]:
        return words[0], words[1], words[2][5:8]  # a line end in the target: llhttp would read HTTP/0.9 and a header
    words = raw[: raw.find(b"\r\n")].split(b" ")
    if len(words) != 3 or not words[0].isalpha() or not words[1] or b"\n" in words[1]:
        raise Refused("request.malformed", "the request line is not 'METHOD TARGET HTTP/1.1' with single spaces")
    if words[0] in METHODS:
        raise Refused("request.not-implemented", "HTTP/1.1 is required")
    raise Refused("request.not-implemented", "use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")


class HeadMemory:
    """Caches the last head of a connection, since a client that polls or posts often sends the same bytes again."""

    __slots__ = ("_head", "_is_free", "_limits", "_place", "_raw")

    def __init__(self, limits: HttpLimits) -> None:
        self._limits = limits
        self._raw = b""
        self._head: RequestHead | None = None
        self._is_free = False  # the cached head has no headers of a trace context
        self._place: TracePlace | None = None  # of the context in the heads that differ from the cached one only in it

    def read(self, raw: bytes) -> RequestHead:
        if self._head is not None and raw == self._raw:
            return self._head
        if (traced := self._read_traced(raw)) is not None:
            return traced
        rest, context = cut_trace(raw)
        if context and self._head is not None and rest == self._raw:
            if self._is_free:
                self._place = find_trace_place(raw, rest)
            return self._head.with_trace(context)
        head = read_head(rest, self._limits)
        if len(rest) <= REMEMBERED_BYTES:
            self._raw, self._head, self._place = rest, head, None
            self._is_free = b"\ntrace" not in rest.lower()
        return head.with_trace(context) if context else head

    def _read_traced(self, raw: bytes) -> RequestHead | None:
        """Return the cached head with another plain trace context, if that is all that differs."""
        place = self._place
        if place is None or len(raw) != place.length or self._head is None:
            return None
        before, after, _ = place
        if not (raw.startswith(before) and raw.endswith(after)):
            return None
        value = raw[len(before) : len(before) + PLAIN_CHARS]
        trace = pack_plain(value)
        return self._head.with_packed_trace(((b"traceparent", value),), trace) if trace else None


def _parse(head: RequestHead, raw: bytes) -> None:
    try:
        httptools.HttpRequestParser(head).feed_data(raw)
    except httptools.HttpParserUpgrade:
        pass  # raised after a valid head; ``read_head`` checks the requested upgrade
    except httptools.HttpParserCallbackError as error:
        if isinstance(error.__context__, Refused):
            raise error.__context__ from None
        raise
    except httptools.HttpParserError as error:
        raise Refused("request.malformed", f"the request head is not valid HTTP/1.1: {error}") from None


def _check_framing(head: RequestHead) -> None:
    if head.version == b"1.0" and head.chunked:
        raise Refused("request.malformed", "HTTP/1.0 has no Transfer-Encoding; send Content-Length")
    if head.hosts != 1 and (head.hosts or head.version == b"1.1"):
        raise Refused("request.malformed", "send exactly one Host header")
    if head.upgrade == b"websocket":
        raise Refused("request.not-implemented", "WebSockets are not supported; poll, or stream the response")
    if head.version == b"1.0":
        head.expects_continue = False


def _split_target(head: RequestHead, target: bytes) -> None:
    if target[0] != SLASH:
        target = _origin_form(target, head.method)
    if HASH in target:
        raise Refused("request.malformed", "a request target has no fragment; percent-encode '#'")
    head.path, _, head.query = target.partition(b"?")


def _origin_form(target: bytes, method: bytes) -> bytes:
    if target == b"*" and method == b"OPTIONS":
        return target
    scheme, separator, rest = target.partition(b"://")
    if not separator or scheme.lower() not in (b"http", b"https"):
        raise Refused("request.malformed", "the request target must start with '/'")
    authority_end = min((i for i in (rest.find(b"/"), rest.find(b"?")) if i >= 0), default=len(rest))
    path = rest[authority_end:]
    return path if path.startswith(b"/") else b"/" + path
