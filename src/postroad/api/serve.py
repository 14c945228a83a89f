"""Serve a running network over HTTP until told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from postroad.api.application import application
from postroad.api.http.limits import HttpLimits
from postroad.api.http.proxy import TrustedProxies
from postroad.api.http.server import HttpServer
from postroad.api.messages import MessageEndpoints
from postroad.api.problem import problem_bytes
from postroad.bootstrap import RunningNetwork

DRAIN_S = 20.0


async def serve(running: RunningNetwork, on_listening: Callable[[str], None]) -> None:
    """Listen as the settings say; ``on_listening`` hears the address. Cancelling ends it in order."""
    settings = running.settings
    endpoints = MessageEndpoints(
        running.network,
        running.authenticator,
        message_bytes=settings.message_bytes,
        bulk_bytes=settings.bulk_bytes,
    )
    server = HttpServer(
        application(running.network, running.authenticator, running.passwords, settings),
        endpoints.routes(),
        HttpLimits(max_body_bytes=settings.message_bytes),
        problem_bytes,
        proxies=TrustedProxies(settings.trusted_proxies),
    )
    port = await server.start(settings.host, settings.port)
    scheme = "https" if settings.tls_certificate else "http"
    on_listening(settings.public_url or f"{scheme}://{settings.host}:{port}")
    try:
        await asyncio.Event().wait()
    finally:
        await server.stop(DRAIN_S)
