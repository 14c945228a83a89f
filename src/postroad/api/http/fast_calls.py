"""Requests to fast routes: collects the body, then calls the handler; a repeated request head is not parsed again.

Rules: stored bytes are counted from their arrival until the request is answered or the client has disconnected. The path
for repeated heads is used only for a single complete request that begins with exactly the bytes of a head that was read
before, so the result is always that of the normal path.
"""

from __future__ import annotations

from typing import NamedTuple

from postroad.api.http.error_log import log_error
from postroad.api.http.front import Front
from postroad.api.http.head import REMEMBERED_BYTES, RequestHead
from postroad.api.http.outbox import Outbox
from postroad.api.http.proxy import ClientOrigin
from postroad.api.http.request import FastRequest, FastRoute
from postroad.errors import Refused


def serve(
    front: Front, outbox: Outbox, route: FastRoute, head: RequestHead, origin: ClientOrigin, body: bytes, now: float
) -> None:
    """Call the handler with a complete request. ``Capacity`` counts ``body`` only if the response is sent later."""
    reply = outbox.open(head.version, not head.keep_alive, head.method == b"HEAD", now)
    reply.statuses = route.statuses
    try:
        route.handler(FastRequest(head, origin, body, now), reply)
    except Exception as error:
        log_error(head.method, head.path, error)
        if not reply.answered:
            content_type, problem = front.problem(500, "internal", "the request failed; try again", head)
            reply(500, problem, content_type)
    if not reply.answered:
        reply.body_bytes_held = len(body)
        front.capacity.hold(len(body))


class FastCall:
    """A fast request whose body did not arrive completely with its head."""

    __slots__ = ("_front", "_head", "_held", "_origin", "_outbox", "_pieces", "_route")

    def __init__(self, front: Front, outbox: Outbox, route: FastRoute, head: RequestHead, origin: ClientOrigin) -> None:
        self._front = front
        self._outbox = outbox
        self._route = route
        self._head = head
        self._origin = origin
        self._pieces: list[bytes] = []
        self._held = 0

    @property
    def keeps_connection(self) -> bool:
        return bool(self._head.keep_alive)

    @property
    def is_full(self) -> bool:
        return False  # limited by its route's size and the shared capacity

    def feed(self, content: bytes) -> None:
        if not self._front.capacity.may_go_on(len(content)):
            raise Refused("network.busy", "the server is processing too many bodies; try again in a moment")
        self._front.capacity.hold(len(content))
        self._held += len(content)
        self._pieces.append(content)

    def complete(self, now: float) -> None:
        body = b"".join(self._pieces)
        self.drop()
        serve(
            front=self._front,
            outbox=self._outbox,
            route=self._route,
            head=self._head,
            origin=self._origin,
            body=body,
            now=now,
        )

    def drop(self) -> None:
        """Release the memory held for the body; ``serve`` counts it again while the response is pending."""
        held, self._held = self._held, 0
        self._pieces.clear()
        self._front.capacity.free(held)


class RepeatedHead(NamedTuple):
    """The head of the last request of a connection, which the next one may repeat."""

    raw: bytes
    whole_bytes: int
    head: RequestHead
    route: FastRoute

    @classmethod
    def of(cls, raw: bytes, head: RequestHead, route: FastRoute) -> RepeatedHead | None:
        """Return the repeatable head; None if the request closes the connection or came through a proxy."""
        repeats = head.keep_alive and not head.forwarded and 0 < head.content_length <= route.max_body_bytes
        return (
            cls(raw, len(raw) + head.content_length, head, route) if repeats and len(raw) <= REMEMBERED_BYTES else None
        )
