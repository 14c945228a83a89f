"""Pushes messages over HTTP: one request to a member's server, on a connection checked before it was opened.

Rules: a name is resolved once for each connection, every address is checked, and the connection goes to a checked one
while Host and TLS keep the name. The whole push has one deadline. No behaviour of a receiver is raised as an
exception: see PushAnswer.
"""

from __future__ import annotations

import asyncio
import errno
import re
import ssl
from collections.abc import Hashable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from ipaddress import ip_address

from postroad import __version__
from postroad.adapters.transport.addresses import Address
from postroad.adapters.transport.connections import IdleConnections, PushConnection
from postroad.adapters.transport.destination import Destination
from postroad.adapters.transport.no_answer import ClosedUnanswered, NoAnswer, find_reason
from postroad.adapters.transport.permission import Permission, not_allowed
from postroad.adapters.transport.response_reader import ReceiverResponse
from postroad.adapters.transport.tls import TlsContexts
from postroad.core.delivery.push_request import PushAnswer, PushRequest
from postroad.core.delivery.reasons import add_values, make_reason
from postroad.ports import Clock, Resolver

CONNECT_S = 5.0  # for each address
ADDRESSES_TRIED = 3
OUT_OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})
SHEDDING_S = 0.01  # time for the event loop to close dropped connections
ANSWER_BYTES = 64 << 10
FRAMING = frozenset({
    "host", "content-length", "transfer-encoding", "connection", "expect", "te", "trailer", "upgrade", "keep-alive",
    "proxy-authorization", "proxy-connection", "accept-encoding", "cookie",
})  # fmt: skip
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_SECONDS = re.compile(r"[0-9]+", re.ASCII)


def request_head(destination: Destination, headers: Mapping[str, str], length: int) -> bytes:
    """Return the bytes before the body; raises NoAnswer if a header cannot be sent.

    Rule: only this module writes the framing of the request (host, length, connection); a caller's header can neither
    repeat it nor add a line.
    """
    lines = [
        f"POST {destination.target} HTTP/1.1",
        f"host: {destination.authority}",
        f"content-length: {length}",
        "accept-encoding: identity",
    ]
    if not any(name.lower() == "user-agent" for name in headers):
        lines.append(f"user-agent: postroad/{__version__}")
    for name, value in headers.items():
        if name.lower() in FRAMING or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise NoAnswer(make_reason("push.header", header=repr(name[:80])))
        lines.append(f"{name}: {value}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def retry_after_s(text: str, now_s: float) -> float | None:
    """Return the seconds to wait by Retry-After, given as seconds or a date; None if it cannot be parsed."""
    if _SECONDS.fullmatch(text):
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, OverflowError, IndexError, TypeError):
        return None
    aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return max(0.0, aware.timestamp() - now_s)


class HttpPusher:
    """Pushes by HTTP/1.1 over connections to checked addresses; the caller limits concurrent pushes."""

    def __init__(
        self,
        *,
        resolver: Resolver,
        clock: Clock,
        permission: Permission | None = None,
        tls: TlsContexts | None = None,
        answer_bytes: int = ANSWER_BYTES,
        idle: IdleConnections | None = None,
    ) -> None:
        self._resolver = resolver
        self._clock = clock
        self._permission = permission or Permission()
        self._tls = tls or TlsContexts()
        self._answer_bytes = answer_bytes
        self._idle = IdleConnections() if idle is None else idle

    async def push(self, request: PushRequest) -> PushAnswer:
        """Return the receiver's response, or why there is none, within the request's time limit."""
        deadline = asyncio.get_running_loop().time() + request.timeout_s
        try:
            answer = await self._exchange(request, deadline)
            return self._make_push_answer(answer)
        except NoAnswer as error:
            return PushAnswer(status=None, fault=error.reason)

    async def close(self) -> None:
        self._idle.shed()
        self._resolver.close()

    async def _exchange(self, request: PushRequest, deadline: float) -> ReceiverResponse:
        destination = Destination.of(request.url)
        head = request_head(destination, request.headers, len(request.body))
        tls = (
            await self._tls.of(request.certificate, request.certificate_pem) if destination.scheme == "https" else None
        )
        place = (destination.scheme, destination.host, destination.port, tls)
        kept = self._idle.take(place)
        if kept is not None:
            try:
                return await self._ask(kept, place, head, request.body, deadline)
            except ClosedUnanswered:
                pass  # the idle connection was closing while the request was sent; try a new connection
        fresh = await self._connected(destination, tls, deadline)
        return await self._ask(fresh, place, head, request.body, deadline)

    async def _ask(
        self, connection: PushConnection, place: Hashable, head: bytes, body: bytes, deadline: float
    ) -> ReceiverResponse:
        try:
            answer = await connection.ask(head, body, self._answer_bytes, deadline)
        except BaseException:
            connection.drop()
            raise
        if connection.reusable:
            self._idle.keep(place, connection)
        else:
            connection.drop()
        return answer

    async def _connected(self, destination: Destination, tls: ssl.SSLContext | None, deadline: float) -> PushConnection:
        """Return a connection to the first checked address that accepts one."""
        fault: Exception = TimeoutError()
        for address in (await self._checked(destination, deadline))[:ADDRESSES_TRIED]:
            try:
                return await self._opened(address, destination, tls, deadline)
            except (OSError, ValueError) as error:  # ValueError: a name that TLS cannot verify
                fault = error
        raise NoAnswer(add_values(find_reason(fault), host=destination.host)) from fault

    async def _opened(
        self, address: Address, destination: Destination, tls: ssl.SSLContext | None, deadline: float
    ) -> PushConnection:
        """Open a new connection; if no file descriptors are left, idle connections are closed."""
        try:
            return await _connect(address, destination, tls, deadline)
        except OSError as error:
            if error.errno not in OUT_OF_FILES or not len(self._idle):
                raise
        self._idle.shed()
        await asyncio.sleep(SHEDDING_S)
        return await _connect(address, destination, tls, deadline)

    async def _checked(self, destination: Destination, deadline: float) -> list[Address]:
        addresses = await self._resolved(destination, deadline)
        self._permission.check(destination, addresses)
        return addresses

    async def _resolved(self, destination: Destination, deadline: float) -> list[Address]:
        if destination.address is not None:
            return [destination.address]
        try:
            async with asyncio.timeout_at(deadline):
                found = await self._resolver.addresses(destination.host)
        except TimeoutError:
            raise NoAnswer(make_reason("push.name-servers", host=destination.host)) from None
        if not found:
            raise not_allowed(destination)
        return [ip_address(text) for text in found]

    def _make_push_answer(self, answer: ReceiverResponse) -> PushAnswer:
        encoding = answer.headers.get("content-encoding", "identity").lower()
        if encoding != "identity" and answer.body and 200 <= answer.status < 300:
            raise NoAnswer(make_reason("push.answer-compressed", encoding=encoding[:40]))
        return PushAnswer(
            status=answer.status,
            retry_after_s=retry_after_s(answer.headers.get("retry-after", ""), self._clock.now_us() / 1_000_000),
            body=answer.body,
            content_type=answer.headers.get("content-type", ""),
            headers=answer.fields,
        )


async def _connect(
    address: Address, destination: Destination, tls: ssl.SSLContext | None, deadline: float
) -> PushConnection:
    """Open a connection to this address; TLS verifies the host of the URL."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout_at(min(deadline, loop.time() + CONNECT_S)):
        _, connection = await loop.create_connection(
            PushConnection, str(address), destination.port, ssl=tls, server_hostname=destination.host if tls else None
        )
    return connection
