"""State shared by all connections of one server: limits, routes, the application, and the date header.

Rule: a connection uses only its own socket and this object; two servers in one process share nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from postroad.api.http.capacity import Capacity
from postroad.api.http.limits import HttpLimits
from postroad.api.http.load import ServerLoad
from postroad.api.http.metrics import HttpMetrics
from postroad.api.http.post_queue import PostQueue
from postroad.api.http.proxy import TrustedProxies
from postroad.api.http.request import FastRoute, FastRoutes, Problem
from postroad.api.http.retry_after import RetryAfter
from postroad.api.http.wire import DateLine

if TYPE_CHECKING:
    from postroad.api.http.protocol import HttpConnection

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class Front:
    app: AsgiApp
    routes: FastRoutes
    limits: HttpLimits
    problem: Problem
    proxies: TrustedProxies
    loop: asyncio.AbstractEventLoop
    capacity: Capacity
    load: ServerLoad = field(default_factory=ServerLoad)
    posts: PostQueue = field(init=False)
    retry_after: RetryAfter = field(init=False)
    metrics: HttpMetrics = field(default_factory=HttpMetrics)
    date: DateLine = field(default_factory=DateLine)
    state: dict[str, Any] = field(default_factory=dict)
    connections: set[HttpConnection] = field(default_factory=set)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    draining: bool = False
    emptied: asyncio.Event = field(default_factory=asyncio.Event)  # set when the last connection is closed

    def __post_init__(self) -> None:
        statuses = self.metrics.statuses  # found once for each route, and not for each request
        self.routes = {key: route._replace(statuses=statuses[route.name]) for key, route in self.routes.items()}
        self.posts = PostQueue(self.loop, self.load.is_storage_behind)
        self.retry_after = RetryAfter(self.load.randomness)

    def count_unread_posts(self, count: int) -> None:
        """Count posts that were refused before they were parsed."""
        self.posts.refused += count
        self.metrics.count_unread_posts(count)

    def enter(self, connection: HttpConnection) -> None:
        self.connections.add(connection)
        self.emptied.clear()

    def leave(self, connection: HttpConnection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self.emptied.set()

    def route(self, method: bytes, path: bytes) -> FastRoute | None:
        """Return the fast route of a path; a route that ends in ``/*`` matches any single last part."""
        route = self.routes.get((method, path)) or self.routes.get((method, path[: path.rfind(b"/") + 1] + b"*"))
        if route is None and method == b"HEAD":
            return self.routes.get((b"GET", path))
        return route
