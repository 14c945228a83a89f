"""A request whose body is still arriving: its sink, its progress, and since when the server waits for the client.

Rule: received bytes are counted here once, for the timer that checks the transfer rate.
"""

from __future__ import annotations

from postroad.api.http.asgi import AsgiExchange
from postroad.api.http.fast_calls import FastCall
from postroad.api.http.framing import Framing


class IncomingRequest:
    __slots__ = ("framing", "received", "sink", "started_at_s")

    def __init__(self, framing: Framing, sink: FastCall | AsgiExchange, started_at_s: float) -> None:
        self.framing = framing
        self.sink = sink
        self.received = 0
        self.started_at_s = started_at_s
