"""A small, fast HTTP client for tests that need many of them: one connection, one request at a time.

Rule: the client sends exactly the given bytes, without retries. If the server is unreachable or disconnects during a
response, it raises ``ConnectionGone``, which fault tests expect; the next request opens a new connection.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple

MAX_HEAD_BYTES = 64 << 10
JSON = "application/json"


class ConnectionGone(Exception):
    """No response arrived; the request may or may not have been carried out."""


class ClientResponse(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class ClientConnection:
    """A persistent connection to one server, with one key."""

    def __init__(
        self,
        port: int,
        key: str = "",
        *,
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        server_name: str | None = None,
        timeout_s: float = 60.0,
    ) -> None:
        self._where = (host, port)
        self._tls = tls
        self._server_name = server_name if tls else None
        self._authorization = {"Authorization": f"Bearer {key}"} if key else {}
        self._timeout_s = timeout_s
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> ClientResponse:
        """Send one request and return its response; raises ConnectionGone when none arrives."""
        fields = {"Host": "localhost", "Content-Length": str(len(body)), **self._authorization, **(headers or {})}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchange(head.encode() + b"\r\n" + body)
        except (OSError, EOFError, TimeoutError) as error:  # TLS errors are OSErrors too
            self.close()
            raise ConnectionGone(f"{method} {path}: {type(error).__name__}: {error}") from error
        except BaseException:
            self.close()  # the rest of an incomplete response must not be read as the next response
            raise

    async def post(self, path: str, body: bytes, content_type: str = JSON, **headers: str) -> ClientResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.request("POST", path, body, {"Content-Type": content_type, **named})

    async def get(self, path: str) -> ClientResponse:
        return await self.request("GET", path)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def __aenter__(self) -> ClientConnection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        await asyncio.sleep(0)  # the socket is closed in the loop's next iteration

    async def _exchange(self, wire: bytes) -> ClientResponse:
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                *self._where, ssl=self._tls, server_hostname=self._server_name, limit=MAX_HEAD_BYTES
            )
        reader, writer = self._streams
        writer.write(wire)
        await writer.drain()
        status, fields = _read_head(await reader.readuntil(b"\r\n\r\n"))
        body = await reader.readexactly(int(fields.get("content-length", "0")))
        if fields.get("connection", "").lower() == "close":
            self.close()
        return ClientResponse(status, fields, body)


def _read_head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    fields = (line.partition(":") for line in lines)
    return int(first.split(" ", 2)[1]), {name.lower(): value.strip() for name, _, value in fields}
