"""Reads one request head, whole: request line and headers up to the empty line.

httptools (llhttp in its strict mode) parses; this module decides what the result may mean. The rule: a head that two
servers could understand differently is refused, so that no proxy in front of us and we ever disagree about where a
message ends. Because a head is parsed only when it is complete, the way it was cut into packets cannot change the
outcome.
"""

from __future__ import annotations

import httptools

from postroad.api.http.limits import HttpLimits
from postroad.api.http.proxy import FORWARDED
from postroad.errors import Refused

METHODS = frozenset({b"GET", b"HEAD", b"POST", b"PUT", b"PATCH", b"DELETE", b"OPTIONS"})
FRAMING = frozenset({b"content-length", b"transfer-encoding", b"host", b"expect", b"connection", b"upgrade"})
NOTED = FRAMING | FORWARDED
VERSIONS = frozenset({b"HTTP/1.0", b"HTTP/1.1"})
END = b"\r\n\r\n"


class Head:
    """What a head says, as far as the server itself must know it. httptools calls ``on_header``."""

    __slots__ = ("chunked", "content_length", "expects_continue", "forwarded", "headers", "hosts", "keep_alive",
                 "method", "path", "query", "target", "upgrade", "version")  # fmt: skip

    def __init__(self, method: bytes, target: bytes, version: bytes) -> None:
        self.method = method
        self.target = target
        self.version = version
        self.path = target
        self.query = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.content_length = 0
        self.chunked = False
        self.expects_continue = False
        self.keep_alive: bool | None = None
        self.upgrade = b""
        self.hosts = 0
        self.forwarded = False  # says something that only a trusted proxy may say

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        self.headers.append((name, value))
        if name in NOTED:
            self._note(name, value.rstrip(b" \t"))

    def _note(self, name: bytes, value: bytes) -> None:
        if name == b"content-length":
            self.content_length = int(value)
        elif name == b"host":
            self.hosts += 1
        elif name == b"connection":
            self._note_connection(value.lower())
        elif name == b"transfer-encoding":
            if value.lower() != b"chunked":
                raise Refused(
                    "request.not-implemented",
                    "send the body with Content-Length, or with Transfer-Encoding: chunked alone",
                )
            self.chunked = True
        elif name == b"expect":
            if value.lower() != b"100-continue":
                raise Refused("request.not-implemented", "the only expectation supported is 100-continue")
            self.expects_continue = True
        elif name == b"upgrade":
            self.upgrade = value.lower()
        else:
            self.forwarded = True

    def _note_connection(self, value: bytes) -> None:
        options = {option.strip() for option in value.split(b",")}
        if b"close" in options:
            self.keep_alive = False
        elif b"keep-alive" in options and self.keep_alive is None:
            self.keep_alive = True


def head_end(pending: bytes, limits: HttpLimits) -> int:
    """Where the head ends, or -1 if more must come. Sizes are counted here, before anything is parsed."""
    line_end = pending.find(b"\r\n", 0, limits.request_line_bytes + 2)
    if line_end < 0 and len(pending) > limits.request_line_bytes + 1:
        raise Refused("request.target-too-long", f"keep the request line within {limits.request_line_bytes} bytes")
    end = pending.find(END, line_end) if line_end >= 0 else -1
    header_bytes = (end if end >= 0 else len(pending) - len(END)) - line_end
    if line_end >= 0 and header_bytes > limits.header_bytes:
        raise Refused("request.header-too-large", f"keep the headers within {limits.header_bytes} bytes")
    return end + len(END) if end >= 0 else -1


def read_head(raw: bytes, limits: HttpLimits) -> Head:
    """``raw`` is a whole head with its empty line, as measured by ``head_end``."""
    if raw.count(b"\n") - 2 > limits.header_count:
        raise Refused("request.header-too-large", f"send at most {limits.header_count} headers")
    words = raw[: raw.index(b"\r\n")].split(b" ")
    if len(words) != 3 or not words[0].isalpha():
        raise Refused("request.malformed", "the request line is not 'METHOD TARGET HTTP/1.1' with single spaces")
    method, target, version = words
    if version not in VERSIONS:
        raise Refused("request.not-implemented", "speak HTTP/1.1")
    if method not in METHODS:
        raise Refused("request.not-implemented", "use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")
    head = Head(method, target, version[5:])
    _parse(head, raw)
    if b" \r\n" in raw or b"\t\r\n" in raw:  # rare, so looked for once rather than stripped from each
        head.headers = [(name, value.rstrip(b" \t")) for name, value in head.headers]
    _check_framing(head)
    _split_target(head)
    return head


def _parse(head: Head, raw: bytes) -> None:
    try:
        httptools.HttpRequestParser(head).feed_data(raw)
    except httptools.HttpParserUpgrade:
        pass  # raised after a valid head; what is asked for is looked at below
    except httptools.HttpParserCallbackError as error:
        if isinstance(error.__context__, Refused):
            raise error.__context__ from None
        raise
    except httptools.HttpParserError as error:
        raise Refused("request.malformed", f"the request head is not valid HTTP/1.1: {error}") from None


def _check_framing(head: Head) -> None:
    if head.version == b"1.0" and head.chunked:
        raise Refused("request.malformed", "HTTP/1.0 has no Transfer-Encoding; send Content-Length")
    if head.hosts != 1 and (head.hosts or head.version == b"1.1"):
        raise Refused("request.malformed", "send exactly one Host header")
    if head.upgrade == b"websocket":
        raise Refused("request.not-implemented", "WebSockets are not offered; poll, or stream the response")
    if head.keep_alive is None:
        head.keep_alive = head.version == b"1.1"
    if head.version == b"1.0":
        head.expects_continue = False


def _split_target(head: Head) -> None:
    target = head.target
    if target[0] != 0x2F:
        head.path = target = _origin_form(target, head.method)
    if b"?" in target:
        head.path, _, head.query = target.partition(b"?")
    if b"#" in target:
        raise Refused("request.malformed", "a request target has no fragment; percent-encode '#'")


def _origin_form(target: bytes, method: bytes) -> bytes:
    if target == b"*" and method == b"OPTIONS":
        return target
    scheme, separator, rest = target.partition(b"://")
    if not separator or scheme.lower() not in (b"http", b"https"):
        raise Refused("request.malformed", "the request target must start with '/'")
    authority_end = min((i for i in (rest.find(b"/"), rest.find(b"?")) if i >= 0), default=len(rest))
    path = rest[authority_end:]
    return path if path.startswith(b"/") else b"/" + path
