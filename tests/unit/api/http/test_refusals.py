"""What the front refuses, byte for byte: every size limit and every way to make two servers disagree about a message's end."""

from __future__ import annotations

import time

import pytest

from postroad.api.http import HttpLimits
from tests.samples.front_door import Response, Wire, echo, serving

H = b"Host: x\r\n"
CHUNKED = b"POST /m HTTP/1.1\r\n" + H + b"Transfer-Encoding: chunked\r\n\r\n"
MALFORMED = (400, "request.malformed")
UNSUPPORTED = (501, "request.not-implemented")


def line(text: bytes, headers: bytes = H) -> bytes:
    return text + b"\r\n" + headers + b"\r\n"


def post(headers: bytes, body: bytes = b"") -> bytes:
    return b"POST /m HTTP/1.1\r\n" + H + headers + b"\r\n" + body


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"

VECTORS: dict[str, tuple[bytes, tuple[int, str]]] = {
    "TE and CL": (post(b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", b"0\r\n\r\n"), MALFORMED),
    "CL and TE": (post(b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"), MALFORMED),
    "two equal CL": (post(b"Content-Length: 3\r\nContent-Length: 3\r\n", b"abc"), MALFORMED),
    "two different CL": (post(b"Content-Length: 3\r\nContent-Length: 4\r\n", b"abcd"), MALFORMED),
    "list of CL": (post(b"Content-Length: 3, 3\r\n", b"abc"), MALFORMED),
    "signed CL": (post(b"Content-Length: +3\r\n", b"abc"), MALFORMED),
    "negative CL": (post(b"Content-Length: -3\r\n", b"abc"), MALFORMED),
    "hexadecimal CL": (post(b"Content-Length: 0x3\r\n", b"abc"), MALFORMED),
    "underscored CL": (post(b"Content-Length: 1_0\r\n", b"abc"), MALFORMED),
    "empty CL": (post(b"Content-Length: \r\n"), MALFORMED),
    "overflowing CL": (post(b"Content-Length: 18446744073709551617\r\n", b"a"), MALFORMED),
    "blank before colon": (post(b"Content-Length : 3\r\n", b"abc"), MALFORMED),
    "TE twice": (post(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n"), MALFORMED),
    "TE gzip, chunked": (post(b"Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"), UNSUPPORTED),
    "TE chunked, gzip": (post(b"Transfer-Encoding: chunked, gzip\r\n", b"0\r\n\r\n"), MALFORMED),
    "TE identity": (post(b"Transfer-Encoding: identity\r\n", b"abc"), UNSUPPORTED),
    "TE xchunked": (post(b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"), UNSUPPORTED),
    "TE vertical tab": (post(b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n"), MALFORMED),
    "TE in HTTP/1.0": (b"POST /m HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", MALFORMED),
    "bare LF after the line": (b"GET /m HTTP/1.1\nHost: x\r\n\r\n", MALFORMED),
    "bare LF after a header": (b"GET /m HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", MALFORMED),
    "bare LF before the request": (b"\nGET /m HTTP/1.1\r\nHost: x\r\n\r\n", MALFORMED),
    "bare CR in a value": (line(b"GET /m HTTP/1.1", H + b"A: b\rc\r\n"), MALFORMED),
    "folded header": (line(b"GET /m HTTP/1.1", H + b"A: b\r\n c\r\n"), MALFORMED),
    "folded header with tab": (line(b"GET /m HTTP/1.1", H + b"A: b\r\n\tc\r\n"), MALFORMED),
    "folded first header": (line(b"GET /m HTTP/1.1", b" A: b\r\n" + H), MALFORMED),
    "NUL in a value": (line(b"GET /m HTTP/1.1", H + b"A: b\0c\r\n"), MALFORMED),
    "NUL in a name": (line(b"GET /m HTTP/1.1", H + b"A\0: b\r\n"), MALFORMED),
    "NUL in the target": (line(b"GET /m\0 HTTP/1.1"), MALFORMED),
    "control in a value": (line(b"GET /m HTTP/1.1", H + b"A: b\x01c\r\n"), MALFORMED),
    "no name": (line(b"GET /m HTTP/1.1", H + b": b\r\n"), MALFORMED),
    "no colon": (line(b"GET /m HTTP/1.1", H + b"A\r\n"), MALFORMED),
    "no Host": (line(b"GET /m HTTP/1.1", b""), MALFORMED),
    "two Hosts": (line(b"GET /m HTTP/1.1", H + H), MALFORMED),
    "fragment": (line(b"GET /m#a HTTP/1.1"), MALFORMED),
    "relative target": (line(b"GET m HTTP/1.1"), MALFORMED),
    "foreign scheme": (line(b"GET ftp://x/m HTTP/1.1"), MALFORMED),
    "asterisk with GET": (line(b"GET * HTTP/1.1"), MALFORMED),
    "bytes above ASCII in the target": (line(b"GET /\xff HTTP/1.1"), MALFORMED),
    "two blanks": (line(b"GET  /m HTTP/1.1"), MALFORMED),
    "tab for a blank": (line(b"GET\t/m HTTP/1.1"), MALFORMED),
    "blank at the end": (line(b"GET /m HTTP/1.1 "), MALFORMED),
    "no version": (line(b"GET /m"), MALFORMED),
    "line without a version": (b"GET /m\r\nA: HTTP/1.1\r\nHost: x\r\n\r\n", MALFORMED),
    "LF in the target": (b"GET /m\nA: HTTP/1.1\r\nHost: x\r\n\r\n", MALFORMED),
    "CR in the target": (b"GET /m\rA: HTTP/1.1\r\nHost: x\r\n\r\n", MALFORMED),
    "HTTP/0.9": (line(b"GET /m HTTP/0.9"), UNSUPPORTED),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", UNSUPPORTED),
    "another protocol": (line(b"GET /m RTSP/1.0"), UNSUPPORTED),
    "lower-case method": (line(b"get /m HTTP/1.1"), UNSUPPORTED),
    "invented method": (line(b"FOO /m HTTP/1.1"), UNSUPPORTED),
    "TRACE": (line(b"TRACE /m HTTP/1.1"), UNSUPPORTED),
    "CONNECT": (line(b"CONNECT x:1 HTTP/1.1"), UNSUPPORTED),
    "WebSocket": (line(b"GET /m HTTP/1.1", H + b"Connection: Upgrade\r\nUpgrade: WebSocket\r\n"), UNSUPPORTED),
    "unknown expectation": (post(b"Expect: magic\r\n"), UNSUPPORTED),
    "chunk: bare LF after size": (CHUNKED + b"3\nabc\r\n0\r\n\r\n", MALFORMED),
    "chunk: bare LF after content": (CHUNKED + b"3\r\nabc\n0\r\n\r\n", MALFORMED),
    "chunk: bare LF at the end": (CHUNKED + b"3\r\nabc\r\n0\r\n\n", MALFORMED),
    "chunk: bare LF in extension": (CHUNKED + b"3;a\nabc\r\n0\r\n\r\n", MALFORMED),
    "chunk: CR in extension": (CHUNKED + b"3;a\rb\r\nabc\r\n0\r\n\r\n", MALFORMED),
    "chunk: prefix": (CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n", MALFORMED),
    "chunk: sign": (CHUNKED + b"+3\r\nabc\r\n0\r\n\r\n", MALFORMED),
    "chunk: blank": (CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n", MALFORMED),
    "chunk: underscore": (CHUNKED + b"1_0\r\nabc\r\n0\r\n\r\n", MALFORMED),
    "chunk: empty size": (CHUNKED + b"\r\nabc\r\n0\r\n\r\n", MALFORMED),
    "chunk: overflow": (CHUNKED + b"FFFFFFFFFFFFFFFFFF\r\nabc\r\n0\r\n\r\n", MALFORMED),
    "chunk: other bytes for CRLF": (CHUNKED + b"3\r\nabcXX0\r\n\r\n", MALFORMED),
    "chunk: longer than said": (CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n", MALFORMED),
    "chunk: endless size line": (CHUNKED + b"3;" + b"a" * 5000, MALFORMED),
    "chunk: tiny chunks": (CHUNKED + b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n", MALFORMED),
    "chunk: Content-Length as trailer": (CHUNKED + b"0\r\nContent-Length: 4\r\n\r\n", MALFORMED),
    "chunk: Transfer-Encoding as trailer": (CHUNKED + b"0\r\nTransfer-Encoding: chunked\r\n\r\n", MALFORMED),
    "chunk: folded trailer": (CHUNKED + b"0\r\nA: b\r\n c\r\n\r\n", MALFORMED),
    "chunk: trailer flood": (CHUNKED + b"0\r\n" + b"A: b\r\n" * 5000, (431, "request.header-too-large")),
}


def refusal(data: bytes, limits: HttpLimits | None = None, max_body: int = 100_000) -> Response:
    """The answer to ``data`` with a smuggled request behind it: the only answer, with the connection closed after it."""
    with serving({("POST", "/m"): echo, ("GET", "/m"): echo}, limits=limits, max_body=max_body) as served:
        with Wire(served.port) as wire:
            wire.send(data + SMUGGLED)
            response = wire.read()
            assert response.headers["content-type"] == "application/problem+json"
            assert response.headers["connection"] == "close"
            assert wire.ended(), "nothing may be understood after a refusal"
        return response


@pytest.mark.req("Z2")
@pytest.mark.parametrize(("data", "expected"), VECTORS.values(), ids=VECTORS.keys())
def test_what_could_be_understood_in_two_ways_is_refused(data: bytes, expected: tuple[int, str]) -> None:
    response = refusal(data, HttpLimits(linger_s=0.1))
    assert (response.status, response.code) == expected


def test_blank_lines_before_a_request_are_passed_over() -> None:
    with serving({("GET", "/m"): echo}) as served, Wire(served.port) as wire:
        wire.send(b"\r\n\r\nGET /m HTTP/1.1\r\nHost: x\r\n\r\n\r\n")
        assert wire.read().status == 200
        wire.send(b"GET /m HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wire.read().status == 200


SMALL = HttpLimits(request_line_bytes=64, header_count=5, header_bytes=200, linger_s=0.1)


def head(target: int = 0, headers: int = 0, header_bytes: int = 0) -> bytes:
    """A head whose request line, number of headers and size of headers are exactly these (where given)."""
    first = b"GET /" + b"m" * max(0, target - len(b"GET / HTTP/1.1")) + b" HTTP/1.1\r\n"
    lines = [b"Host: x\r\n", *[b"A: b\r\n"] * max(0, headers - 1)]
    if header_bytes:
        lines.append(b"B: " + b"b" * (header_bytes - len(b"Host: x\r\nB: \r\n")) + b"\r\n")
    return first + b"".join(lines) + b"\r\n"


@pytest.mark.parametrize(
    ("inside", "outside", "expected"),
    [
        (head(target=64), head(target=65), (414, "request.target-too-long")),
        (head(headers=5), head(headers=6), (431, "request.header-too-large")),
        (head(header_bytes=200), head(header_bytes=201), (431, "request.header-too-large")),
    ],
    ids=["request line", "header count", "header size"],
)
def test_size_limits_of_the_head_are_exact(inside: bytes, outside: bytes, expected: tuple[int, str]) -> None:
    with serving(limits=SMALL) as served, Wire(served.port) as wire:
        wire.send(inside)
        assert wire.read().status == 404
    response = refusal(outside, SMALL)
    assert (response.status, response.code) == expected


@pytest.mark.parametrize(
    ("flood", "status"),
    [
        (b"GET /" + b"a" * 5_000_000, 414),
        (b"GET /m HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 5_000_000, 431),
        (b"GET /m HTTP/1.1\r\nHost: x\r\n" + b"".join(b"X-%d: a\r\n" % n for n in range(20_000)), 431),
    ],
    ids=["target", "one header", "many headers"],
)
def test_floods_of_headers_are_refused_before_they_have_arrived(flood: bytes, status: int) -> None:
    with serving(limits=HttpLimits(linger_s=1)) as served, Wire(served.port) as wire:
        wire.send(flood)
        assert wire.read().status == status


@pytest.mark.req("Z2")
def test_bodies_are_limited_by_route_and_in_general() -> None:
    limits = HttpLimits(body_bytes=50, linger_s=0.1)
    with serving({("POST", "/m"): echo}, limits=limits, max_body=10) as served:
        for path, limit in ((b"/m", 10), (b"/app", 50)):
            for size, refused in ((limit, False), (limit + 1, True)):
                counted = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path, size) + b"a" * size
                chunked = b"POST %b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" % path
                chunked += b"1\r\na\r\n%x\r\n%b\r\n0\r\n\r\n" % (size - 1, b"a" * (size - 1))
                for request in (counted, chunked):
                    with Wire(served.port) as wire:
                        wire.send(request)
                        response = wire.read()
                    assert (response.status == 413) is refused
                    assert not refused or (response.code, response.path) == ("wire.too-large", path.decode())


def test_what_takes_no_body_says_so() -> None:
    response = refusal(
        b"GET /m HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", HttpLimits(linger_s=0.1), max_body=0
    )
    assert (response.status, b"send no body here" in response.body) == (413, True)


def test_a_refusal_waits_for_the_answers_before_it_and_is_readable_by_a_client_that_still_sends() -> None:
    with (
        serving({("POST", "/m"): echo}, max_body=100, limits=HttpLimits(linger_s=120)) as served,
        Wire(served.port) as wire,
    ):
        wire.send(post(b"Content-Length: 2\r\n", b"ok") + post(b"Content-Length: 3000000\r\n", b"a" * 3_000_000))
        assert wire.read().body == b"ok"
        assert wire.read().status == 413
        began = time.monotonic()
        assert wire.ended()
        assert time.monotonic() - began < 60, "the end is told at once, while what still comes is let in"
