"""The metrics page: ``GET /metrics`` on a listener of its own, for Prometheus, with an optional bearer token.

Rule: it is never on the public port, and it shares nothing with it: scrapes are answered while the public port is overloaded.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from pathlib import Path

from postroad.api.error_responses import front_refusal
from postroad.api.http.error_log import log_error
from postroad.api.http.front import Receive, Scope, Send
from postroad.api.http.limits import HttpLimits
from postroad.api.http.request import FastReply, FastRequest, FastRoute, FastRoutes
from postroad.api.http.server import HttpServer
from postroad.bootstrap.queried_gauges import QueriedGauges
from postroad.bootstrap.settings import Settings
from postroad.core.metrics.exposition import (
    OPEN_METRICS_TYPE,
    TEXT_TYPE,
    accepts_open_metrics,
    write_open_metrics,
    write_text,
)
from postroad.core.metrics.registry import Metrics
from postroad.errors import Misconfigured

PATH = "/metrics"
LIMITS = HttpLimits(connections=64, connections_per_peer=64, body_bytes=0)
PLAIN = b"text/plain; charset=utf-8"
STOP_S = 2.0
MAX_TOKEN_BYTES = 4_096


class MetricsPage:
    """Answers scrapes; concurrent ones share the computation of the gauges."""

    def __init__(self, metrics: Metrics, gauges: QueriedGauges, token: str = "") -> None:
        self._metrics = metrics
        self._gauges = gauges
        self._expected = f"Bearer {token}".encode() if token else b""
        self._running: set[asyncio.Task[None]] = set()

    def routes(self) -> FastRoutes:
        return {(b"GET", PATH.encode()): FastRoute(self._serve, 0)}

    def _serve(self, request: FastRequest, reply: FastReply) -> None:
        if not self._may_read(request):
            body = b"The metrics page needs its token: send the header Authorization: Bearer TOKEN.\n"
            reply(401, body, PLAIN, ((b"www-authenticate", b"Bearer"),))
            return
        task = asyncio.get_running_loop().create_task(self._answer(request, reply))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _may_read(self, request: FastRequest) -> bool:
        return not self._expected or hmac.compare_digest(request.header(b"authorization") or b"", self._expected)

    async def _answer(self, request: FastRequest, reply: FastReply) -> None:
        try:
            await self._gauges.refresh()
            accept = (request.header(b"accept") or b"").decode("latin-1")
            families = self._metrics.read()
            if accepts_open_metrics(accept):
                page, content_type = write_open_metrics(families), OPEN_METRICS_TYPE
            else:
                page, content_type = write_text(families), TEXT_TYPE
            reply(200, page.encode(), content_type.encode(), ((b"vary", b"accept"), (b"cache-control", b"no-store")))
        except Exception as error:
            log_error(request.method, request.path, error)
            if not reply.answered:
                reply(500, b"The page could not be written; the log has the reason.\n", PLAIN)


class MetricsListener:
    """The server of the metrics page, from ``start`` to ``stop``; without an address in the settings it does nothing."""

    def __init__(self, settings: Settings, metrics: Metrics, gauges: QueriedGauges) -> None:
        self._address = settings.metrics_listen
        self._server: HttpServer | None = None
        if self._address:
            page = MetricsPage(metrics, gauges, read_token(settings.metrics_token_file))
            self._server = HttpServer(_nothing_else, page.routes(), LIMITS, front_refusal)

    async def start(self) -> str:
        """Listen; returns the URL of the page, or an empty text."""
        if self._server is None:
            return ""
        host, _, port = self._address.rpartition(":")
        try:
            bound = await self._server.start(host.strip("[]"), int(port))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else error
            raise Misconfigured(
                [f"metrics_listen: {self._address} cannot be used ({reason}); choose another port"]
            ) from error
        return f"http://{host}:{bound}{PATH}"

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(STOP_S)


def read_token(path: str) -> str:
    """Return the token in the file; empty if no file is set. Raises Misconfigured if it cannot be read or is empty."""
    if not path:
        return ""
    try:
        with Path(path).expanduser().open() as file:
            token = file.read(MAX_TOKEN_BYTES).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured([f"metrics_token_file: {path} cannot be read: {error}"]) from error
    if not token:
        raise Misconfigured([f"metrics_token_file: {path} is empty; write a token into it, or unset it"])
    return token


async def _nothing_else(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        raise NotImplementedError  # no lifespan: in ASGI, that is how an application says so
    body = f"The metrics are at {PATH}.\n".encode()
    await send({"type": "http.response.start", "status": 404, "headers": [(b"content-type", PLAIN)]})
    await send({"type": "http.response.body", "body": body})
