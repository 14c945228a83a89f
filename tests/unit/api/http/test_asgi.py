"""A FastAPI application behind the bridge: scopes, streams both ways, disconnects, mistakes, lifespan."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, StreamingResponse

from postroad.api.http import HttpLimits, HttpServer
from postroad.errors import Misconfigured
from tests.samples.front_door import Wire, ask, echo, not_found, problem, serving
from tests.waiting import eventually

SECRET = "secret-payload"


class Witness:
    """What the application saw, for the test to look at."""

    def __init__(self) -> None:
        self.started = self.stopped = False
        self.scopes: list[dict[str, Any]] = []
        self.received = 0
        self.disconnected = threading.Event()
        self.go_on = threading.Event()


def application(witness: Witness) -> FastAPI:
    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        witness.started = True
        yield {"greeting": "hello"}
        witness.stopped = True

    app = FastAPI(lifespan=lifespan)

    @app.get("/items/{name}")
    async def item(name: str, request: Request) -> dict[str, Any]:
        witness.scopes.append(dict(request.scope))
        return {"name": name, "greeting": request.state.greeting}

    @app.post("/count")
    async def count(request: Request) -> dict[str, int]:
        async for piece in request.stream():
            witness.received += len(piece)
        return {"bytes": witness.received}

    @app.get("/stream")
    async def stream(pieces: int, size: int) -> StreamingResponse:
        async def produce() -> AsyncIterator[bytes]:
            for _ in range(pieces):
                witness.received += size
                yield b"a" * size

        return StreamingResponse(produce(), media_type="text/plain")

    @app.get("/hang")
    async def hang(request: Request) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        witness.disconnected.set()

    @app.post("/slow-reader")
    async def slow_reader(request: Request) -> dict[str, int]:
        await asyncio.to_thread(witness.go_on.wait, 60)
        return {"bytes": len(await request.body())}

    @app.get("/fails")
    async def fails() -> None:
        raise ValueError(SECRET)

    @app.get("/fails-midway")
    async def fails_midway() -> StreamingResponse:
        async def produce() -> AsyncIterator[bytes]:
            yield b"some"
            raise ValueError(SECRET)

        return StreamingResponse(produce())

    @app.get("/empty")
    async def empty() -> PlainTextResponse:
        return PlainTextResponse("", status_code=204)

    return app


def get(path: bytes, version: bytes = b"1.1") -> bytes:
    return b"GET %b HTTP/%b\r\nHost: x\r\n\r\n" % (path, version)


@pytest.fixture
def witness() -> Witness:
    return Witness()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_a_fastapi_application_is_served_beside_the_fast_routes(witness: Witness, loop: str) -> None:
    with serving({("POST", "/m"): echo}, app=application(witness), loop=loop) as served, Wire(served.port) as wire:
        assert witness.started
        wire.send(
            get(b"/items/a%20b?x=%31") + b"POST /m HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok" + get(b"/empty")
        )
        response = wire.read()
        assert response.body == b'{"name":"a b","greeting":"hello"}'
        assert wire.read().body == b"ok"
        assert wire.read().status == 204
        wire.send(get(b"/nothing") + get(b"/empty"))
        assert [wire.read().status, wire.read().status] == [404, 204]
    assert witness.stopped
    scope = witness.scopes[0]
    assert (scope["path"], scope["raw_path"], scope["query_string"]) == ("/items/a b", b"/items/a%20b", b"x=%31")
    assert (scope["scheme"], scope["http_version"], scope["client"][0]) == ("http", "1.1", "127.0.0.1")
    assert scope["server"] == ("127.0.0.1", served.port)


def test_request_bodies_stream_in(witness: Witness) -> None:
    chunk = b"10000\r\n" + b"a" * 0x10000 + b"\r\n"
    with serving(app=application(witness)) as served, Wire(served.port) as wire:
        wire.send(b"POST /count HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
        eventually(lambda: witness.received == 0x10000)
        wire.send(chunk * 20 + b"0\r\n\r\n" + get(b"/empty"))
        assert wire.read().body == b'{"bytes":%d}' % (21 * 0x10000)
        assert wire.read().status == 204


def test_an_application_that_does_not_read_slows_its_sender_and_nobody_else(witness: Witness) -> None:
    limits = HttpLimits(stream_buffer_bytes=20_000, body_deadline_s=4.0, idle_s=4.0)
    size = 9_000_000
    with serving({("GET", "/m"): echo}, app=application(witness), limits=limits) as served, Wire(served.port) as wire:
        wire.send(b"POST /slow-reader HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
        sender = threading.Thread(target=wire.send, args=(b"a" * (size - 1),))
        sender.start()
        sender.join(limits.body_deadline_s + 0.2)
        assert sender.is_alive(), "the server took more than it had room for"
        assert ask(served.port, get(b"/m")).status == 200
        witness.go_on.set()
        sender.join(60)
        time.sleep(3 * limits.tick_s)  # sleeps: the time that the sender was held up is not held against it
        wire.send(b"a")
        assert wire.read().body == b'{"bytes":%d}' % size


@pytest.mark.parametrize(("version", "framing"), [(b"1.1", "transfer-encoding"), (b"1.0", "connection")])
def test_answers_stream_out(witness: Witness, version: bytes, framing: str) -> None:
    with serving(app=application(witness)) as served, Wire(served.port) as wire:
        wire.send(get(b"/stream?pieces=3&size=1000", version))
        response = wire.read()
        assert response.body == b"a" * 3000
        assert response.headers[framing] == {"transfer-encoding": "chunked", "connection": "close"}[framing]


def test_a_client_that_does_not_read_holds_up_the_application_not_the_memory(witness: Witness) -> None:
    limits = HttpLimits(write_buffer_bytes=10_000, stalled_write_s=0.4)
    with serving(app=application(witness), limits=limits) as served, Wire(served.port) as wire:
        wire.send(get(b"/stream?pieces=1000&size=1000000"))
        eventually(lambda: witness.received > 0)
        eventually(lambda: not served.server.front.connections, why="a client that never reads is cut off")
        assert witness.received < 100_000_000


def test_the_application_is_told_when_its_client_leaves(witness: Witness) -> None:
    with serving(app=application(witness)) as served:
        with Wire(served.port) as wire:
            wire.send(get(b"/hang"))
            eventually(lambda: bool(served.server.front.tasks))
        assert witness.disconnected.wait(30)
        eventually(lambda: not served.server.front.tasks)


def test_100_continue_is_sent_when_the_application_wants_the_body(witness: Witness) -> None:
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    with serving(app=application(witness)) as served:
        with Wire(served.port) as wire:
            wire.send(head % b"/count")
            assert wire.read().status == 100
            wire.send(b"abc")
            assert wire.read().body == b'{"bytes":3}'
        with Wire(served.port) as wire:
            wire.send(head % b"/nowhere")
            response = wire.read()
            assert (response.status, response.headers["connection"]) == (404, "close")


def test_a_failing_application_is_answered_500_without_its_words(
    witness: Witness, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "postroad.http"), serving(app=application(witness)) as served:
        assert ask(served.port, get(b"/fails")).status == 500
        with Wire(served.port) as wire:
            wire.send(get(b"/fails-midway"))
            with pytest.raises((EOFError, ConnectionResetError)):
                wire.read()
    own = [record.getMessage() for record in caplog.records if record.name == "postroad.http"]
    assert len(own) == 2
    assert SECRET not in "".join(own)


async def silent(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        raise NotImplementedError
    if scope["path"] == "/raises":
        raise ValueError
    if scope["path"] == "/lies":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"abc"})
    if scope["path"] == "/splits":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-a", b"b\r\nx-evil: 1")]})
    if scope["path"] == "/twice":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.start", "status": 200, "headers": []})


@pytest.mark.parametrize("path", [b"/returns", b"/raises", b"/lies", b"/splits", b"/twice"])
def test_an_application_that_breaks_the_protocol_is_answered_for(path: bytes) -> None:
    with serving(app=silent) as served, Wire(served.port) as wire:
        wire.send(get(path))
        response = wire.read()
        assert (response.status, response.code) == (500, "internal")
        assert wire.ended()


async def test_an_application_that_cannot_start_stops_the_server() -> None:
    async def failing(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    server = HttpServer(failing, {}, HttpLimits(), problem)
    with pytest.raises(Misconfigured, match="no database"):
        await server.start("127.0.0.1", 0)


def test_stopping_lets_the_application_finish_and_then_cancels(witness: Witness) -> None:
    with serving(app=application(witness)) as served, Wire(served.port) as wire:
        wire.send(get(b"/hang"))
        eventually(lambda: bool(served.server.front.tasks))
        served.wait(served.server.stop(0.1))
        assert wire.ended()
        assert not served.server.front.tasks


def test_head_on_an_application(witness: Witness) -> None:
    with serving(app=not_found) as served, Wire(served.port) as wire:
        wire.send(b"HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n" + get(b"/x"))
        assert wire.read(head_only=True).headers["content-length"] == "4"
        assert wire.read().body == b"none"
