"""The request and the reply of a fast route: one complete request, answered exactly once.

A fast handler is a plain function, called on the event loop with the whole body in memory. It may answer at once, or
keep the ``Reply`` and answer later from the loop (after a group commit, at the end of a long poll). Rule: each
``Reply`` is called exactly once. Answers leave in the order of the requests, whatever order they are given in. A
disconnected client is not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from postroad.core.metrics.instruments import Counter

if TYPE_CHECKING:
    from postroad.api.http.head import RequestHead
    from postroad.api.http.outbox import Outbox
    from postroad.api.http.proxy import ClientOrigin

Headers = Sequence[tuple[bytes, bytes]]


class FastRequest:
    """One complete, immutable request. Header names are lower-case; ``received_at_s`` is the event loop's time."""

    __slots__ = ("_head", "_origin", "body", "memo", "received_at_s")

    def __init__(self, head: RequestHead, origin: ClientOrigin, body: bytes, received_at_s: float) -> None:
        self._head = head
        self._origin = origin
        self.body = body
        self.received_at_s = received_at_s
        self.memo = head.memo  # shared by all requests of a connection that repeat the same head

    @property
    def method(self) -> bytes:
        return self._head.method

    @property
    def path(self) -> bytes:
        return self._head.path

    @property
    def query(self) -> bytes:
        return self._head.query

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        return self._head.headers

    @property
    def peer(self) -> str:
        return self._origin.peer

    @property
    def secure(self) -> bool:
        return self._origin.secure

    @property
    def client_certificate_der(self) -> bytes | None:
        return self._origin.client_certificate_der

    @property
    def trace(self) -> bytes:
        """Return the packed W3C trace context of the request; empty if it has none."""
        return self._head.trace

    def header(self, name: bytes) -> bytes | None:
        """Return the first header with this (lower-case) name, or None."""
        for candidate, value in self._head.headers:
            if candidate == name:
                return value
        return None


class FastReply:
    """The answer to one request: call it once, now or later."""

    __slots__ = ("_listeners", "_outbox", "answered", "asked_at_s", "body_bytes_held", "closed", "closes", "head_only",
                 "statuses", "version", "wire")  # fmt: skip

    def __init__(self, outbox: Outbox, version: bytes, closes: bool, head_only: bool, asked_at_s: float) -> None:
        self._outbox = outbox
        self._listeners: list[Callable[[], None]] | None = None
        self.version = version
        self.closes = closes  # the connection ends after this response
        self.head_only = head_only
        self.asked_at_s = asked_at_s
        self.body_bytes_held = 0
        self.answered = False
        self.closed = False  # the client has disconnected: a response will not arrive
        self.wire: bytes | list[bytes] | None = None
        self.statuses: Sequence[Counter] | None = None  # of its route, by the first digit of the status

    def __call__(self, status: int, body: bytes, content_type: bytes, headers: Headers = ()) -> None:
        if self.answered:
            raise RuntimeError("this request has already been answered; call its reply exactly once")
        self._outbox.answer(self, status, body, content_type, headers)

    def on_disconnect(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` once if the client disconnects before the answer; at once if it already has."""
        if self.closed:
            listener()
        elif self._listeners is None:
            self._listeners = [listener]
        else:
            self._listeners.append(listener)

    @property
    def waits_for_news(self) -> bool:
        """Whether a handler has registered to be notified of a disconnect."""
        return self._listeners is not None

    def disconnect(self) -> None:
        """Mark the client as disconnected and call the listener; called by the connection."""
        self.closed = True
        listeners, self._listeners = self._listeners, None
        if listeners and not self.answered:
            for listener in listeners:
                listener()


FastHandler = Callable[[FastRequest, FastReply], None]


IsPost = Callable[[bytes], bool]


def is_always_post(body: bytes) -> bool:
    return True


class FastRoute(NamedTuple):
    handler: FastHandler
    max_body_bytes: int
    name: str = "api"  # as the metrics label it
    is_post: IsPost | None = None  # whether a body is a post, which waits under overload; None: nothing here is one
    statuses: Sequence[Counter] | None = (
        None  # counts its responses by the first digit of the status; set by the server
    )


FastRoutes = dict[tuple[bytes, bytes], FastRoute]
ProblemBody = tuple[bytes, bytes]  # content type and body
# status, code, detail, and the head of the request if it could be read
Problem = Callable[[int, str, str, "RequestHead | None"], ProblemBody]
