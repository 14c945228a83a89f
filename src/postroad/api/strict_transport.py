"""Adds Strict-Transport-Security (RFC 6797) to responses that were served over TLS.

Rules: the header is sent only over TLS (our own or that of a trusted proxy), since browsers must ignore it otherwise.
It is never sent for ``localhost``, where browsers would apply it to every other program on the machine.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

DAY_S = 24 * 3_600
HERE = re.compile(r"(.+\.)?localhost\.?(:[0-9]*)?", re.IGNORECASE)


class StrictTransport:
    """ASGI middleware around everything that people see."""

    def __init__(self, app: ASGIApp, days: int) -> None:
        self._app = app
        self._days = days

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self._days or scope["scheme"] != "https" or _is_here(scope):
            await self._app(scope, receive, send)
            return

        async def told(event: Message) -> None:
            if event["type"] == "http.response.start":
                MutableHeaders(scope=event)["Strict-Transport-Security"] = f"max-age={self._days * DAY_S}"
            await send(event)

        await self._app(scope, receive, told)


def _is_here(scope: Scope) -> bool:
    return bool(HERE.fullmatch(Headers(scope=scope).get("host", "")))
