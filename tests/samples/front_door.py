"""A running front in a thread of its own, and a client that sends exactly the bytes it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import uvloop

from postroad.api.http import FastReply, FastRequest, FastRoute, HttpLimits, HttpServer, TrustedProxies
from postroad.api.http.head import RequestHead
from postroad.api.http.request import IsPost

JSON = b"application/json"
PROBLEM = b"application/problem+json"
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


def problem(status: int, code: str, detail: str, head: RequestHead | None) -> tuple[bytes, bytes]:
    path = head.path.decode() if head is not None else None
    return PROBLEM, json.dumps({"status": status, "code": code, "detail": detail, "path": path}).encode()


class Served:
    """``HttpServer`` on a loop of its own; ``call`` runs a function on that loop."""

    def __init__(
        self, app: Any, routes: dict[tuple[bytes, bytes], FastRoute], limits: HttpLimits, **options: Any
    ) -> None:
        self.loop = LOOPS[options.pop("loop", "uvloop")]()
        self.server = HttpServer(app, routes, limits, problem, **options)
        self.unhandled: list[dict[str, Any]] = []
        self.loop.set_exception_handler(lambda loop, context: self.unhandled.append(context))
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self.port = self.wait(self.server.start("127.0.0.1", 0))

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def wait(self, work: Any, timeout_s: float = 30.0) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(timeout_s)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        async def on_loop() -> Any:
            return function(*arguments)

        return self.wait(on_loop())

    def close(self) -> None:
        self.wait(self.server.stop(0.2))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        assert self.unhandled == []


@contextlib.contextmanager
def serving(
    routes: Mapping[tuple[str, str], Callable[[FastRequest, FastReply], None]] | None = None,
    app: Any = None,
    limits: HttpLimits | None = None,
    max_body: int = 1 << 20,
    proxies: tuple[str, ...] = (),
    posts: Mapping[str, IsPost] | None = None,
    **options: Any,
) -> Iterator[Served]:
    """``posts`` has the paths that serve posts, which wait under overload."""
    fast = {
        (m.encode(), p.encode()): FastRoute(handler, max_body, is_post=(posts or {}).get(p))
        for (m, p), handler in (routes or {}).items()
    }
    served = Served(app or not_found, fast, limits or HttpLimits(), proxies=TrustedProxies(proxies), **options)
    try:
        yield served
    finally:
        served.close()


async def not_found(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "lifespan":
        raise NotImplementedError
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-length", b"4")]})
    await send({"type": "http.response.body", "body": b"none"})


def echo(request: FastRequest, reply: FastReply) -> None:
    reply(200, request.body, b"text/plain", [(b"x-path", request.path), (b"x-query", request.query)])


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def code(self) -> str:
        return str(json.loads(self.body)["code"])

    @property
    def path(self) -> object:
        """Of the request that was refused, where its head could be read."""
        return json.loads(self.body)["path"]


class Wire:
    """A raw connection: ``send`` bytes, ``read`` one response at a time, ``ended`` when the server has closed."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        self.sock: socket.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        if context is not None:
            self.sock = context.wrap_socket(self.sock, server_hostname="localhost")
        self._buffer = b""

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *exc: object) -> None:
        self.sock.close()

    def send(self, data: bytes) -> None:
        self.sock.sendall(data)

    def _fill(self) -> None:
        data = self.sock.recv(65536)
        if not data:
            raise EOFError(f"closed by the server, with {self._buffer!r} unread")
        self._buffer += data

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._buffer:
            self._fill()
        part, _, self._buffer = self._buffer.partition(mark)
        return part

    def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            self._fill()
        part, self._buffer = self._buffer[:size], self._buffer[size:]
        return part

    def read(self, head_only: bool = False) -> Response:
        lines = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        version, _, rest = lines[0].partition(" ")
        assert version == "HTTP/1.1", f"not the start of a response: {lines[0]!r}"
        status = int(rest[:3])
        headers = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines[1:])}
        if head_only or status in (100, 204, 304):
            return Response(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            return Response(status, headers, self._chunks())
        if "content-length" not in headers:
            return Response(status, headers, self._rest())
        return Response(status, headers, self._exactly(int(headers["content-length"])))

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self._until(b"\r\n"), 16):
            body += self._exactly(size)
            assert self._exactly(2) == b"\r\n"
        assert self._until(b"\r\n") == b""
        return body

    def _rest(self) -> bytes:
        with contextlib.suppress(EOFError):
            while True:
                self._fill()
        rest, self._buffer = self._buffer, b""
        return rest

    def ended(self) -> bool:
        """Whether the server closes without another byte (waits for it)."""
        try:
            return not self._buffer and self.sock.recv(1) == b""
        except ConnectionResetError:
            return not self._buffer


def ask(port: int, data: bytes) -> Response:
    """One raw request on a fresh connection."""
    with Wire(port) as wire:
        wire.send(data)
        return wire.read()
