"""The servers of the services that are pushed to, played by one process: good ones, hanging ones and refusing ones.

    python -m benchmarks.isolation_receiver

It prints its port and serves until it is ended. Every address 127.x.y.z reaches it, so each service has a destination of its own.
The path says how a push is answered: ``/good`` at once, ``/refuse`` with 503, ``/hang`` never, until ``GET /release``. A message
tells in its text when it was posted, by the clock that all processes of a machine share; ``GET /taken`` returns how long each
good push was under way since the last time, in microseconds.
"""

from __future__ import annotations

import asyncio
import re
import time
from typing import cast

import httptools
import msgspec

POSTED_AT = re.compile(rb"posted-at:(\d+):")
BACKLOG = 4_096


class Taken:
    """What has arrived, and who waits without success."""

    def __init__(self) -> None:
        self.under_way_us: list[int] = []
        self.hanging: list[asyncio.Transport] = []

    def arrived(self, body: bytes) -> None:
        stamp = POSTED_AT.search(body)
        if stamp is not None:
            self.under_way_us.append((time.monotonic_ns() - int(stamp[1])) // 1_000)

    def release(self) -> None:
        """Let those who wait without success know it."""
        for transport in self.hanging:
            transport.abort()
        self.hanging.clear()


class Receiving(asyncio.Protocol):
    """One connection; reads requests, and answers them as their path says."""

    def __init__(self, taken: Taken) -> None:
        self._taken = taken
        self._parser = httptools.HttpRequestParser(self)
        self._url = b""
        self._body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if not self._transport.get_extra_info("peername")[0].startswith("127."):
            self._transport.abort()  # we listen everywhere to be reached by every loopback address, and for no one else

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._url = url
        self._body.clear()

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        if self._url.startswith(b"/good"):
            self._taken.arrived(b"".join(self._body))
            self._answer(b"204 No Content")
        elif self._url.startswith(b"/refuse"):
            self._answer(b"503 Service Unavailable")
        elif self._url.startswith(b"/hang"):
            self._taken.hanging.append(self._transport)
        else:
            self._tell()

    def _tell(self) -> None:
        if self._url == b"/release":
            self._taken.release()
        figures, self._taken.under_way_us = self._taken.under_way_us, []
        self._answer(b"200 OK", msgspec.json.encode(figures))

    def _answer(self, status: bytes, body: bytes = b"") -> None:
        self._transport.write(b"HTTP/1.1 %b\r\ncontent-length: %d\r\n\r\n%b" % (status, len(body), body))


async def serve() -> None:
    taken = Taken()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Receiving(taken), "0.0.0.0", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
