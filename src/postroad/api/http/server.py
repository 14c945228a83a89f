"""The listening server: opens the socket, starts the application, runs the timer, and shuts down cleanly.

Rules: stopping first refuses new requests, then waits for those in progress, and only then closes connections. A
request that was being answered when the operator stopped the server is answered. If the application reports a failed
startup, the server does not start; an application without lifespan support is served without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from postroad.api.http.capacity import Capacity
from postroad.api.http.error_log import log_error
from postroad.api.http.front import AsgiApp, Event, Front
from postroad.api.http.limits import HttpLimits
from postroad.api.http.load import ServerLoad
from postroad.api.http.metrics import HttpMetrics
from postroad.api.http.protocol import HttpConnection
from postroad.api.http.proxy import TrustedProxies
from postroad.api.http.request import FastRoutes, Problem
from postroad.core.metrics.registry import Metrics
from postroad.errors import Misconfigured


class Lifespan:
    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._answers: asyncio.Queue[Event] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self.state: dict[str, Any] = {}

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())
        answer = await self._ask("lifespan.startup")
        if answer["type"] == "lifespan.startup.failed":
            raise Misconfigured([f"the application could not start: {answer.get('message', '')}"])

    async def stop(self) -> None:
        if self._task is not None and not self._task.done():
            await self._ask("lifespan.shutdown")
            await asyncio.gather(self._task, return_exceptions=True)

    async def _ask(self, kind: str) -> Event:
        await self._events.put({"type": kind})
        return await self._answers.get()

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        with contextlib.suppress(Exception):  # in ASGI, an application without lifespan support raises here
            await self._app(scope, self._events.get, self._answers.put)
        await self._answers.put({"type": "lifespan.unsupported"})


BACKLOG = 2048


class HttpServer:
    def __init__(
        self,
        app: AsgiApp,
        fast_routes: FastRoutes,
        limits: HttpLimits,
        problem: Problem,
        *,
        ssl_context: ssl.SSLContext | None = None,
        proxies: TrustedProxies | None = None,
        reuse_port: bool = False,
        load: ServerLoad | None = None,
        metrics: Metrics | None = None,
    ) -> None:
        self._app = app
        self._routes = fast_routes
        self._limits = limits
        self._problem = problem
        self._ssl = ssl_context
        self._proxies = proxies or TrustedProxies()
        self._reuse_port = reuse_port
        self._load = load or ServerLoad()
        self._metrics = HttpMetrics(metrics)
        self._lifespan = Lifespan(app)
        self._front: Front | None = None
        self._servers: list[asyncio.Server] = []
        self._clock: asyncio.TimerHandle | None = None

    async def start(self, host: str, port: int, inherited: Sequence[socket.socket] = ()) -> int:
        """Start the application, then listen; returns the bound port (useful if ``port`` is 0).

        ``inherited`` are listening sockets that replace ``host`` and ``port``. The program that passed them keeps them open,
        so clients can connect while the server restarts.
        """
        loop = asyncio.get_running_loop()
        await self._lifespan.start()
        front = self._front = Front(
            app=self._app,
            routes=self._routes,
            limits=self._limits,
            problem=self._problem,
            proxies=self._proxies,
            loop=loop,
            capacity=Capacity(self._limits),
            load=self._load,
            state=self._lifespan.state,
            metrics=self._metrics,
        )
        self._metrics.follow(front.capacity, front.posts, self._limits.bodies_in_flight_bytes)
        if inherited:
            self._servers = [await self._listen(front, sock=one) for one in inherited]
        else:
            self._servers = [await self._listen(front, host=host, port=port, reuse_port=self._reuse_port or None)]
        self._tick(front)
        bound: socket.socket = self._servers[0].sockets[0]
        return int(bound.getsockname()[1])

    async def _listen(self, front: Front, **where: Any) -> asyncio.Server:
        return await front.loop.create_server(
            lambda: HttpConnection(front),
            **where,
            backlog=BACKLOG,
            ssl=self._ssl,
            ssl_handshake_timeout=self._limits.header_deadline_s if self._ssl else None,
            ssl_shutdown_timeout=self._limits.linger_s if self._ssl else None,
        )

    @property
    def front(self) -> Front:
        """Return the state that connections share, for readiness and metrics; available after ``start``."""
        if self._front is None:
            raise RuntimeError("the server has not been started")
        return self._front

    def _tick(self, front: Front) -> None:
        self._clock = front.loop.call_later(self._limits.tick_s, self._tick, front)
        front.date.renew()
        front.capacity.set_memory_short(short=self._load.is_memory_short())
        now = front.loop.time()
        for connection in tuple(front.connections):
            try:
                connection.check(now)
            except Exception as error:  # an error in one connection must not stop the timer of all
                log_error(b"check", b"", error)
                connection.abort()

    async def stop(self, drain_s: float) -> None:
        """Finish the requests in progress, for at most ``drain_s``, and close the remaining connections."""
        if self._front is None or not self._servers:
            return
        front = self._front
        front.draining = True
        for server in self._servers:
            server.close()
        self._servers = []
        await self._wait_for_connections(front, drain_s)
        for connection in tuple(front.connections):
            connection.abort()
        for task in tuple(front.tasks):
            task.cancel()
        await asyncio.gather(*front.tasks, return_exceptions=True)
        if self._clock is not None:
            self._clock.cancel()
        await self._lifespan.stop()

    @staticmethod
    async def _wait_for_connections(front: Front, drain_s: float) -> None:
        for connection in tuple(front.connections):
            connection.drain()
        if front.connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(front.emptied.wait(), drain_s)
