"""Any bytes, in any cut: the same answers as uncut, nothing unhandled, nothing that hangs, nothing that piles up."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from postroad.api.http.capacity import Capacity
from postroad.api.http.front import Front
from postroad.api.http.limits import HttpLimits
from postroad.api.http.protocol import HttpConnection
from postroad.api.http.proxy import TrustedProxies
from postroad.api.http.request import FastReply, FastRequest, FastRoute
from postroad.api.http.wire import CONTINUE

LIMITS = HttpLimits(
    request_line_bytes=200, header_count=10, header_bytes=300, body_bytes=400, pipelined=2, stream_buffer_bytes=50,
    bodies_in_flight_bytes=500,
)  # fmt: skip
MAX_BODY = 300
CLOSES = b"connection: close\r\n"
TURNS = 400  # of the loop; far more than any of these inputs needs


class Pipe:
    """A transport that keeps what is written. It delivers nothing while reading is paused, as a socket would."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.written = b""
        self.closing = self.half_closed = self.paused = False
        self.connection: HttpConnection | None = None

    def get_extra_info(self, name: str) -> Any:
        return ("192.0.2.1", 5) if name in ("peername", "sockname") else None

    def set_write_buffer_limits(self, high: int) -> None: ...

    def write(self, data: bytes) -> None:
        assert not self.half_closed, "nothing may follow the last answer"
        self.written += data

    def writelines(self, parts: list[bytes]) -> None:
        self.write(b"".join(parts))

    def get_write_buffer_size(self) -> int:
        return 0

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.half_closed = True

    def is_closing(self) -> bool:
        return self.closing

    def pause_reading(self) -> None:
        assert not self.paused
        self.paused = True

    def resume_reading(self) -> None:
        assert self.paused
        self.paused = False

    def close(self) -> None:
        if not self.closing:
            self.closing = True
            assert self.connection is not None
            self.loop.call_soon(self.connection.connection_lost, None)

    abort = close


async def echo_app(scope: Any, receive: Any, send: Any) -> None:
    body, more = b"", True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return
        body, more = body + event["body"], event["more_body"]
    await send({"type": "http.response.start", "status": 201, "headers": [(b"x-app", b"1")]})
    await send({"type": "http.response.body", "body": body[:10], "more_body": True})
    await send({"type": "http.response.body", "body": body[10:]})


class FrontUnderTest:
    """One event loop for all examples; ``run`` plays one connection on it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.unhandled: list[dict[str, Any]] = []
        self.loop.set_exception_handler(lambda loop, context: self.unhandled.append(context))

    def now(self, request: FastRequest, reply: FastReply) -> None:
        reply(200, request.body, b"text/plain", [(b"x-query", request.query)])

    def later(self, request: FastRequest, reply: FastReply) -> None:
        self.loop.call_soon(lambda: self.loop.call_soon(reply, 202, request.body, b"text/plain"))

    def fails(self, request: FastRequest, reply: FastReply) -> None:
        raise ValueError("mistake")

    def front(self) -> Front:
        handlers = {b"/now": self.now, b"/later": self.later, b"/fails": self.fails}
        return Front(
            app=echo_app,
            routes={(b"POST", path): FastRoute(handler, MAX_BODY) for path, handler in handlers.items()},
            limits=LIMITS,
            problem=lambda status, code, detail, head: (b"text/plain", f"{status} {code}".encode()),
            proxies=TrustedProxies(),
            loop=self.loop,
            capacity=Capacity(LIMITS),
        )

    def turn(self) -> None:
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def run(self, pieces: list[bytes], *, half_closes: bool = False) -> tuple[bytes, bool]:
        """What was answered, and whether the connection was closed; at the end the client may close its side."""
        front = self.front()
        front.date.line = b""
        pipe = Pipe(self.loop)
        connection = pipe.connection = HttpConnection(front)
        connection.connection_made(pipe)  # type: ignore[arg-type]
        for piece in pieces:
            self._until(lambda: not pipe.paused or pipe.closing)
            if pipe.closing:
                break
            connection.data_received(piece)
            assert len(connection._pending) <= 1000 + len(piece)
        if half_closes and not pipe.closing and not connection.eof_received():
            pipe.close()
        self._until(lambda: not connection.outbox.replies)
        for _ in range(20):  # an application may rightly go on waiting for the rest of a body
            self.turn()
        closed = pipe.closing or pipe.half_closed
        pipe.close()
        self._until(lambda: not front.connections and not front.tasks)
        assert front.capacity.body_bytes == 0
        assert front.capacity.connections == 0
        assert self.unhandled == []
        return pipe.written.replace(CONTINUE, b""), closed

    def _until(self, condition: Any) -> None:
        for _ in range(3):
            self.turn()
        for _ in range(TURNS):
            if condition():
                return
            self.turn()
        pytest.fail("the connection hangs")


@pytest.fixture(scope="module")
def bench() -> Iterator[FrontUnderTest]:
    bench = FrontUnderTest()
    yield bench
    bench.loop.close()


paths = st.sampled_from([b"/now", b"/later", b"/fails", b"/app", b"/now?a=b", b"http://x/later", b"/%41"])
bodies = st.one_of(st.binary(max_size=40), st.sampled_from([b"a" * 300, b"a" * 301, b"b" * 401]))
extras = st.lists(
    st.sampled_from(
        [b"A: b\r\n", b"Connection: close\r\n", b"Expect: 100-continue\r\n", b"X-Forwarded-For: 1.1.1.1\r\n", b"B:  c \r\n",
         b"Client-Cert: :AAAA:\r\n", b"Connection: Upgrade\r\nUpgrade: h2c\r\n"]
    ),
    max_size=3,
).map(b"".join)  # fmt: skip


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    method = draw(st.sampled_from([b"POST", b"POST", b"POST", b"GET", b"HEAD", b"PUT"]))
    version = draw(st.sampled_from([b"1.1", b"1.1", b"1.1", b"1.0"]))
    body, extra = draw(bodies), draw(extras)
    head = b"%b %b HTTP/%b\r\nHost: x\r\n%b" % (method, draw(paths), version, extra)
    if draw(st.booleans()):
        return head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    cut = draw(st.integers(0, len(body)))
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:cut], body[cut:]) if part)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


streams = st.lists(requests(), min_size=1, max_size=4).map(b"".join)
tokens = st.sampled_from(
    [b"\r\n", b"\n", b"\r", b" ", b":", b"\0", b"0", b"GET ", b"POST ", b"/now", b" HTTP/1.1", b"Host: x", b"Content-Length: 5",
     b"Transfer-Encoding: chunked", b"\r\n\r\n", b"5\r\nabcde\r\n", b"0\r\n\r\n", b"a" * 210, b"\xff"]
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    data = draw(streams)
    for _ in range(draw(st.integers(1, 3))):
        at, gone = draw(st.integers(0, len(data))), draw(st.integers(0, 3))
        data = data[:at] + draw(st.one_of(tokens, st.binary(max_size=2))) + data[at + gone :]
    return data


anything = st.one_of(streams, mutated(), st.lists(tokens, max_size=12).map(b"".join), st.binary(max_size=400))


@pytest.mark.req("Z2")
@settings(max_examples=500)
@given(data=anything, cuts=st.lists(st.integers(0, 2000), max_size=6))
@example(
    data=b"POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\na\r\n" * 4
    + b"GET /app HTTP/1.1\r\nHost: x\r\n\r\n",
    cuts=[],
)
def test_any_bytes_in_any_cut_are_answered_as_if_uncut(bench: FrontUnderTest, data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges) if a < b]
    assert bench.run(pieces) == bench.run([data] if data else [])


@pytest.mark.req("Z2")
@given(data=st.one_of(requests(), mutated().map(lambda data: data[:300])))
def test_one_byte_at_a_time_is_no_different(bench: FrontUnderTest, data: bytes) -> None:
    assert bench.run([data[n : n + 1] for n in range(len(data))]) == bench.run([data] if data else [])


GOOD = (
    b"POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none"
    b"POST /app HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\nT: u\r\n\r\n"
    b"HEAD /now HTTP/1.1\r\nHost: x\r\n\r\nPOST /now HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 5\r\n\r\nthree"
)


def test_every_single_cut_of_a_good_stream(bench: FrontUnderTest) -> None:
    whole = bench.run([GOOD])
    assert whole[0].count(b"HTTP/1.1 20") == 4
    assert whole[0].endswith(b"three")
    for cut in range(1, len(GOOD)):
        assert bench.run([GOOD[:cut], GOOD[cut:]]) == whole


def test_a_stream_truncated_anywhere_is_let_go_without_a_trace(bench: FrontUnderTest) -> None:
    for end in range(len(GOOD)):
        pieces = [GOOD[:end]] if end else []
        whole, _ = bench.run(pieces)
        half, closed = bench.run(pieces, half_closes=True)
        assert closed
        assert whole.replace(CLOSES, b"").startswith(half.replace(CLOSES, b"")), "the same answers, as far as they go"
