"""Servers on loopback that do exactly what a script says, and a pusher that is allowed to reach them."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any

import uvloop

from postroad.adapters.system import SystemClock
from postroad.adapters.transport.permission import Permission
from postroad.adapters.transport.push import HttpPusher
from postroad.core.delivery.push_request import PushAnswer, PushRequest

NAME = "receiver.test"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok"
LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}

Script = Callable[["Wire"], Awaitable[None]]


def on(loop: str, scenario: Coroutine[Any, Any, Any]) -> None:
    """Run the scenario on that kind of loop; whatever goes wrong behind its back fails it."""
    unseen: list[dict[str, Any]] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: unseen.append(context))
        await scenario

    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(watched())
    assert unseen == []


class Wire:
    """The receiver's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def request(self) -> bytes:
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        return head + await self.reader.readexactly(length)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def reset(self) -> None:
        """End with RST instead of FIN, as a server does that died."""
        self.writer.transport.abort()


class Receiver:
    """A server; ``requests`` are those that its scripts have read whole."""

    def __init__(self, script: Script) -> None:
        self.connections = 0
        self.requests: list[bytes] = []
        self.port = 0
        self._script = script
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        wire = Wire(reader, writer)
        wire.request = self._recorded(wire.request)  # type: ignore[method-assign]
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            await self._script(wire)
        self._tasks.discard(task)
        writer.transport.abort() if task.cancelling() else writer.close()

    def _recorded(self, request: Callable[[], Coroutine[Any, Any, bytes]]) -> Callable[[], Coroutine[Any, Any, bytes]]:
        async def recorded() -> bytes:
            self.requests.append(await request())
            return self.requests[-1]

        return recorded

    async def stop(self) -> None:
        ending = list(self._tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)


@contextlib.asynccontextmanager
async def receiving(
    script: Script, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Receiver]:
    receiver = Receiver(script)
    server = await asyncio.start_server(receiver.serve, host, 0, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        await receiver.stop()


def answering(*answers: bytes) -> Script:
    """Reads a request and answers, as often as there are answers; then closes."""

    async def script(wire: Wire) -> None:
        for answer in answers:
            await wire.request()
            await wire.send(answer)

    return script


class Answers:
    """A resolver that gives each answer once, the last one indefinitely, and remembers what it was asked."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def addresses(self, host: str) -> list[str]:
        self.asked.append(host)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]

    def close(self) -> None:
        self.asked.append("closed")


def pusher(resolver: Answers | None = None, allow: tuple[str, ...] = (NAME,), **options: Any) -> HttpPusher:
    return HttpPusher(
        resolver=resolver or Answers(["127.0.0.1"]), clock=SystemClock(), permission=Permission.of(allow), **options
    )


def to(receiver: Receiver, *, scheme: str = "http", host: str = NAME, **options: Any) -> PushRequest:
    values: dict[str, Any] = {"headers": {"webhook-id": "one"}, "body": b"hello", "timeout_s": 30.0, **options}
    return PushRequest(url=f"{scheme}://{host}:{receiver.port}/in", **values)


async def pushed(script: Script, *, answer_bytes: int = 64 << 10, **options: Any) -> tuple[PushAnswer, Receiver]:
    """One push to a receiver that follows the script."""
    async with receiving(script) as receiver:
        out = pusher(answer_bytes=answer_bytes)
        answer = await out.push(to(receiver, **options))
        await out.close()
    return answer, receiver
