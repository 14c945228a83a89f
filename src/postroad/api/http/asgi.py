"""Passes one request to the ASGI 3 application and writes its response.

Rule: both directions stream with back-pressure. The application gets input only as fast as it receives, and its
``send`` waits while the client does not read. After the client has disconnected, ``receive`` reports it and ``send``
raises ``ConnectionResetError``.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from postroad.api.http.application_response import ApplicationResponse
from postroad.api.http.error_log import log_error
from postroad.api.http.front import Event, Front, Scope
from postroad.api.http.head import RequestHead
from postroad.api.http.proxy import ClientOrigin

if TYPE_CHECKING:
    from postroad.api.http.protocol import HttpConnection

DISCONNECT: Event = {"type": "http.disconnect"}


class AsgiExchange:
    """One request that the application processes."""

    __slots__ = ("_answer", "_buffered", "_complete", "_connection", "_disconnected", "_front", "_handed_over", "_head",
                 "_origin", "_pieces", "_wake")  # fmt: skip

    def __init__(self, connection: HttpConnection, front: Front, head: RequestHead, origin: ClientOrigin) -> None:
        self._connection = connection
        self._front = front
        self._head = head
        self._origin = origin
        self._answer = ApplicationResponse(head, front.date, front.retry_after)
        self._pieces: list[bytes] = []
        self._buffered = 0
        self._complete = False  # the whole body has arrived
        self._handed_over = False  # the application has received all of it
        self._disconnected = False
        self._wake = asyncio.Event()

    def start(self) -> None:
        task = self._front.loop.create_task(self._run())
        self._front.tasks.add(task)
        task.add_done_callback(self._front.tasks.discard)

    # called by the connection

    @property
    def is_full(self) -> bool:
        return self._buffered > self._front.limits.stream_buffer_bytes

    @property
    def started(self) -> bool:
        return self._answer.sent

    def feed(self, content: bytes) -> None:
        self._pieces.append(content)
        self._buffered += len(content)
        self._wake.set()

    def complete(self, now: float) -> None:
        self._complete = True
        self._wake.set()

    def disconnect(self) -> None:
        self._disconnected = True
        self._wake.set()

    # called by the application

    async def receive(self) -> Event:
        if not self._handed_over:
            self._connection.send_continue()
        while not self._has_news():
            self._wake.clear()
            await self._wake.wait()
        if self._disconnected or self._handed_over:
            return DISCONNECT
        body, self._pieces = b"".join(self._pieces), []
        was_full, self._buffered = self.is_full, 0
        self._handed_over = self._complete
        if was_full:
            self._front.loop.call_soon(self._connection.resume)
        return {"type": "http.request", "body": body, "more_body": not self._complete}

    def _has_news(self) -> bool:
        if self._disconnected or self._answer.finished:
            return True
        return not self._handed_over and (self._buffered > 0 or self._complete)

    async def send(self, event: Event) -> None:
        if self._disconnected:
            raise ConnectionResetError("the client is gone")
        if event["type"] == "http.response.start":
            closes = self._front.draining or self._connection.owes_continue
            self._answer.start(event["status"], event.get("headers", ()), closes=closes)
            return
        data = self._answer.body(bytes(event.get("body", b"")), more=event.get("more_body", False))
        if data:
            self._connection.write(data)
        if self._answer.finished:
            self._wake.set()
            self._connection.exchange_ended(self, self._answer.keeps_connection)
        else:
            await self._connection.wait_until_drained()

    # running it

    async def _run(self) -> None:
        try:
            await self._front.app(self.scope(), self.receive, self.send)
            if not self._answer.finished and not self._disconnected:
                raise RuntimeError("the application returned without a complete answer")
        except asyncio.CancelledError:
            self._connection.abort()
            raise
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        if self._disconnected:
            return  # errors after a disconnect are caused by it
        log_error(self._head.method, self._head.path, error)
        if self._answer.sent and not self._answer.finished:
            self._connection.abort()
        elif not self._answer.finished:
            detail = "the request failed; try again"
            content_type, body = self._front.problem(500, "internal", detail, self._head)
            self._answer = ApplicationResponse(self._head, self._front.date, self._front.retry_after)
            self._answer.start(500, [(b"content-type", content_type)], closes=True)
            self._connection.write(self._answer.body(body, more=False))
            self._connection.exchange_ended(self, keeps=False)

    def scope(self) -> Scope:
        head, origin = self._head, self._origin
        extensions: dict[str, Any] = {"postroad.draining": lambda: self._front.draining}  # so that streams can end
        if origin.secure:
            extensions["tls"] = {"client_cert_der": origin.client_certificate_der}
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": head.version.decode(),
            "method": head.method.decode(),
            "scheme": "https" if origin.secure else "http",
            "path": unquote_to_bytes(head.path).decode("utf-8", "replace"),
            "raw_path": head.path,
            "query_string": head.query,
            "root_path": "",
            "headers": head.headers,
            "client": (origin.peer, self._connection.address("peername")[1]),
            "server": self._connection.address("sockname"),
            "state": self._front.state.copy(),
            "extensions": extensions,
        }
