"""Connections to receivers: each sends a request, receives the response, and then waits for the next request.

Rules: bytes received before a connection broke are valid. So bytes are read as they arrive, and the end is checked
only after them. The number of idle connections per destination and in total, and their age, are small; the oldest is
closed first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from dataclasses import dataclass
from typing import cast

from postroad.adapters.transport.no_answer import NoAnswer, find_reason
from postroad.adapters.transport.response_reader import ReceiverResponse, ResponseReader
from postroad.core.delivery.reasons import make_reason


class PushConnection(asyncio.Protocol):
    """A connection made by ``loop.create_connection``; handles one request at a time."""

    def __init__(self) -> None:
        self.open = False
        self._transport: asyncio.Transport  # set by connection_made
        self._reader: ResponseReader | None = None
        self._waiting: asyncio.Future[ReceiverResponse] | None = None

    async def ask(self, head: bytes, body: bytes, answer_bytes: int, deadline: float) -> ReceiverResponse:
        """Return the response to the request; raises NoAnswer if it is missing at the deadline (event loop time)."""
        reader = self._reader = ResponseReader(answer_bytes)
        waiting: asyncio.Future[ReceiverResponse] = asyncio.get_running_loop().create_future()
        self._waiting = waiting
        try:
            if not self.open:
                return reader.broken_off()
            self._transport.writelines((head, body))
            async with asyncio.timeout_at(deadline):
                return await waiting
        except TimeoutError:
            return _known(reader)
        finally:
            self._waiting = None

    @property
    def reusable(self) -> bool:
        """Whether another request may be sent: the last response ended exactly, and the whole request was sent."""
        exact = self.open and self._reader is not None and self._reader.reusable
        return exact and self._transport.get_write_buffer_size() == 0

    def rest(self) -> None:
        """Mark the connection as idle; it is closed if the receiver sends something now."""
        self._reader = None

    def drop(self) -> None:
        """Close the connection at once, without waiting."""
        self.open = False
        self._transport.abort()

    # ---------------------------------------------------------------------------------------------- called by the loop
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.open = True

    def data_received(self, data: bytes) -> None:
        if self._reader is None:
            self.drop()
            return
        try:
            self._reader.feed(data)
        except NoAnswer as error:
            self._settle(error)
        else:
            if self._reader.answer is not None:
                self._settle(self._reader.answer)

    def eof_received(self) -> None:
        self.open = False
        if self._reader is not None and self._waiting is not None:
            try:
                self._settle(self._reader.finish())
            except NoAnswer as error:
                self._settle(error)
        self.drop()  # a regular close would first wait until everything is sent

    def connection_lost(self, error: Exception | None) -> None:
        self.open = False
        if self._reader is None or self._waiting is None:
            return
        try:
            self._settle(self._reader.broken_off())
        except NoAnswer as no_answer:
            self._settle(type(no_answer)(find_reason(error)) if error is not None else no_answer)

    def _settle(self, outcome: ReceiverResponse | NoAnswer) -> None:
        if self._waiting is None or self._waiting.done():
            return
        if isinstance(outcome, NoAnswer):
            self._waiting.set_exception(outcome)
            self.drop()
        else:
            self._waiting.set_result(outcome)


def _known(reader: ResponseReader) -> ReceiverResponse:
    known = reader.find_response()
    if known is None:
        raise NoAnswer(make_reason("push.timeout"))
    return known


PER_DESTINATION = 8
IN_ALL = 512
IDLE_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resting:
    destination: Hashable
    timer: asyncio.TimerHandle


class IdleConnections:
    def __init__(self, *, per_destination: int = PER_DESTINATION, in_all: int = IN_ALL, idle_s: float = IDLE_S) -> None:
        self._per_destination = per_destination
        self._in_all = in_all
        self._idle_s = idle_s
        self._resting: dict[PushConnection, _Resting] = {}  # oldest first
        self._at: dict[Hashable, list[PushConnection]] = {}

    def __len__(self) -> int:
        return len(self._resting)

    def take(self, destination: Hashable) -> PushConnection | None:
        """Return the most recently used connection, which is the most likely to be open; None if there is none."""
        while self._at.get(destination):
            connection = self._at[destination][-1]
            self._forget(connection)
            if connection.open:
                return connection
        return None

    def keep(self, destination: Hashable, connection: PushConnection) -> None:
        connection.rest()
        at = self._at.setdefault(destination, [])
        timer = asyncio.get_running_loop().call_later(self._idle_s, self._drop, connection)
        self._resting[connection] = _Resting(destination=destination, timer=timer)
        at.append(connection)
        if len(at) > self._per_destination:
            self._drop(at[0])
        if len(self._resting) > self._in_all:
            self._drop(next(iter(self._resting)))

    def shed(self) -> None:
        """Close all idle connections."""
        for connection in list(self._resting):
            self._drop(connection)

    def _drop(self, connection: PushConnection) -> None:
        self._forget(connection)
        connection.drop()

    def _forget(self, connection: PushConnection) -> None:
        resting = self._resting.pop(connection)
        resting.timer.cancel()
        at = self._at[resting.destination]
        at.remove(connection)
        if not at:
            del self._at[resting.destination]
