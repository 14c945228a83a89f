"""Serves a running network over HTTP or HTTPS until it is stopped.

Rules: Strict-Transport-Security (RFC 6797) is sent only over TLS (our own or that of a trusted proxy), since browsers
must ignore it otherwise. It is never sent for ``localhost``, where browsers would apply it to every other program on
the machine.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroad.api.application import Pages, build_application
from postroad.api.as2 import As2Endpoint
from postroad.api.error_responses import front_refusal
from postroad.api.http.limits import HttpLimits
from postroad.api.http.load import ServerLoad
from postroad.api.http.metrics import HttpMetrics
from postroad.api.http.proxy import TrustedProxies
from postroad.api.http.server import HttpServer
from postroad.api.http.tls import TlsFront
from postroad.api.messages import MessageEndpoints
from postroad.api.metrics import MetricsListener
from postroad.api.resources.route_guards import DOCUMENT_BYTES
from postroad.bootstrap import RunningNetwork
from postroad.core.metrics.registry import Metrics
from postroad.core.model.snapshot import Directory
from postroad.errors import Misconfigured, Unavailable

DAY_S = 24 * 3_600
HERE = re.compile(r"(.+\.)?localhost\.?(:[0-9]*)?", re.IGNORECASE)


class StrictTransport:
    """ASGI middleware that adds Strict-Transport-Security to the responses of the application."""

    def __init__(self, app: ASGIApp, days: int) -> None:
        self._app = app
        self._days = days

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._days or scope["scheme"] != "https" or _is_here(scope):
            await self._app(scope, receive, send)
            return

        async def send_with_header(event: Message) -> None:
            if event["type"] == "http.response.start":
                MutableHeaders(scope=event)["Strict-Transport-Security"] = f"max-age={self._days * DAY_S}"
            await send(event)

        await self._app(scope, receive, send_with_header)


class MeasuredApplication:
    """ASGI middleware that counts and measures requests to the application."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = HttpMetrics(metrics)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = monotonic(), 500  # what a client gets if the application fails

        async def send_and_note(event: Message) -> None:
            nonlocal status
            if event["type"] == "http.response.start":
                status = event["status"]
            await send(event)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            self._metrics.record(_route_of(scope["path"]), status, monotonic() - began)


def _route_of(path: str) -> str:
    if path in ("/livez", "/readyz", "/startupz"):
        return "health"
    return "api" if path.startswith("/v1/") else "console"


def _is_here(scope: Scope) -> bool:
    return bool(HERE.fullmatch(Headers(scope=scope).get("host", "")))


DRAIN_S = 20.0
RENEWED_EVERY_S = 10.0
BEHIND_BYTES = 1 << 20  # of posts that wait for a group: some groups, a tenth of a second on a usual disk
COLLECTED = (10_000, 5, 2_000)  # thresholds of Python's garbage collector

log = logging.getLogger(__name__)


async def serve(
    running: RunningNetwork,
    on_listening: Callable[[str], None],
    pages: Pages | None = None,
    *,
    inherited: Sequence[socket.socket] = (),
    on_metrics: Callable[[str], None] = lambda url: None,
    on_stopping: Callable[[], None] = lambda: None,
) -> None:
    """Listen as configured or on inherited sockets; calls ``on_listening`` with the address. Cancelling shuts down in order.

    ``on_metrics`` is called with the address of the metrics page, if there is one.
    """
    settings = running.settings
    endpoints = MessageEndpoints(
        running.network,
        running.authenticator,
        message_bytes=settings.message_bytes,
        bulk_bytes=settings.bulk_bytes,
        own_address=running.own_address,
        posts_per_s=settings.posts_per_s,
        reader=running.reader,
    )
    readiness = Readiness(running.require_ready)
    front = _tls(running)
    server = _build_server(running, endpoints, readiness, front, pages)
    measuring = MetricsListener(settings, running.network.metrics, running.gauges)
    if url := await measuring.start():
        on_metrics(url)
    try:
        port = await server.start(settings.host, settings.port, inherited)
        running.own_address.listens_on(port)
        on_listening(running.own_address.url)  # first: clients on this machine find the network by this address
        _tune_garbage_collector()
        await running.stopping.unless(_reload_renewed(front) if front is not None else asyncio.Event().wait())
    finally:
        on_stopping()
        try:
            await readiness.announce_end(settings.effective_drain_notice_s)
        finally:
            endpoints.end_waiting()
            await server.stop(DRAIN_S)
            await measuring.stop()


def _build_server(
    running: RunningNetwork,
    endpoints: MessageEndpoints,
    readiness: Readiness,
    front: TlsFront | None,
    pages: Pages | None,
) -> HttpServer:
    """Return the HTTP server with the message endpoints, AS2, the JSON resources and the console."""
    settings = running.settings
    as2 = As2Endpoint(running.as2, running.authenticator, endpoints.rate, message_bytes=settings.message_bytes)
    app = build_application(
        running.network,
        running.authenticator,
        running.passwords,
        settings,
        asset_faults=running.asset_faults,
        transform=running.trials.transformer.transform,
        judges=running.trials.judges,
        validator=running.trials.validator,
        reader=running.reader,
        require_ready=readiness.require,
        nodes=running.nodes,
        own_address=running.own_address,
        pages=pages,
    )
    return HttpServer(
        MeasuredApplication(StrictTransport(app, settings.strict_transport_days), running.network.metrics),
        endpoints.routes() | as2.routes(),
        HttpLimits(body_bytes=max(settings.message_bytes, DOCUMENT_BYTES)),
        front_refusal,
        ssl_context=front.context if front is not None else None,
        proxies=TrustedProxies(settings.trusted_proxies),
        load=_load(running, endpoints),
        metrics=running.network.metrics,
    )


class Readiness:
    """What ``/readyz`` reports: the journal is writable, the index is kept up, and the server is not about to stop."""

    def __init__(self, require_ready: Callable[[], None]) -> None:
        self._require_ready = require_ready
        self._ends = False

    def require(self) -> None:
        """Raise Unavailable if no new work should be sent here."""
        if self._ends:
            raise Unavailable("network.unavailable", "The server is about to stop; use another node")
        self._require_ready()

    async def announce_end(self, notice_s: float) -> None:
        """Report from now on that the server is not ready; returns after the notice, while requests are still served."""
        self._ends = True
        if not notice_s:
            return
        log.info("server.draining: the server stops listening in %g s", notice_s)
        await asyncio.sleep(notice_s)


def _load(running: RunningNetwork, endpoints: MessageEndpoints) -> ServerLoad:
    desk = running.network.desk
    return ServerLoad(
        is_storage_behind=lambda: desk.waiting_bytes > BEHIND_BYTES,
        is_memory_short=running.memory.check,
        organization_of=endpoints.organization_of,
        randomness=running.network.randomness,
    )


def _tune_garbage_collector() -> None:
    """Exclude start-up objects from garbage collection and collect rarely, because messages contain no cycles.

    A collection stops everything, for up to a microsecond per object. So it examines the newest 10,000 objects at a
    time, and after five such collections the newest 50,000. One request can create a million objects.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED)


async def _reload_renewed(front: TlsFront) -> None:
    """Reload the server's certificate whenever it is renewed on disk, until cancelled."""
    while True:
        await asyncio.sleep(RENEWED_EVERY_S)
        try:
            if front.reload_if_renewed():
                log.info("tls.renewed: the server's certificate was renewed")
        except Misconfigured as fault:  # possibly half written; the old one is used until it is complete
            log.warning("tls.renewal_failed: the server's certificate cannot be read again: %s", fault)


def _tls(running: RunningNetwork) -> TlsFront | None:
    """Return TLS with the client certificates of the directory, updated with every change; None without TLS."""
    settings = running.settings
    if not settings.tls_certificate:
        return None
    front = TlsFront(Path(settings.tls_certificate), Path(settings.tls_key))
    trusted: set[str] = set()

    def follow(directory: Directory) -> None:
        registered = {item.certificate for item in directory.credentials.values() if item.certificate}
        new = registered - trusted
        if trusted - registered or len(new) > len(trusted):
            front.trust([ssl.PEM_cert_to_DER_cert(pem) for pem in sorted(registered)])
        else:
            for pem in new:  # a new one is added at once; rebuilding the set takes time for each certificate
                front.admit(ssl.PEM_cert_to_DER_cert(pem))
        trusted.clear()
        trusted.update(registered)

    running.network.configuration.on_change(follow)
    return front
