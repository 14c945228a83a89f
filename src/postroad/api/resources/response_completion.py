"""Middleware around every request and response: HEAD, rate-limit and security headers, and internal errors.

Rule: every internal error is answered as a problem with an id; the log has the id and the location, the client only
the id. Exception texts appear in neither, since they may quote a payload or a password. A disconnected client is not
an error and is not logged.
"""

from __future__ import annotations

import logging
import traceback
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from postroad.api.problem import CONTENT_TYPE, problem
from postroad.core.admission.rate_limit import rate_fields

log = logging.getLogger("postroad.api")


class ResponseCompletion:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        answering = HeaderCompletion(send, state, head_only=scope["method"] == "HEAD")
        if answering.head_only:
            scope = {**scope, "method": "GET"}
        try:
            await self._app(scope, receive, answering.send)
        except ClientDisconnect:
            return
        except Exception as error:
            if not answering.client_left:
                await _answer_mistake(scope, error, answering)


class HeaderCompletion:
    """Passes an answer on, with its headers completed."""

    def __init__(self, send: Send, state: dict[str, Any], *, head_only: bool) -> None:
        self._send = send
        self._state = state
        self.head_only = head_only
        self.started = False
        self.client_left = False

    async def send(self, event: Message) -> None:
        if event["type"] == "http.response.start":
            self.started = True
            self._complete(MutableHeaders(scope=event))
        elif event["type"] == "http.response.body" and self.head_only:
            event = {**event, "body": b""}
        try:
            await self._send(event)
        except ConnectionError:
            self.client_left = True
            raise

    def _complete(self, headers: MutableHeaders) -> None:
        headers.setdefault("X-Content-Type-Options", "nosniff")
        headers.setdefault("Cache-Control", "no-store")
        rate = self._state.get("rate")
        for name, value in rate_fields(rate).items() if rate is not None else ():
            headers[name] = value


async def _answer_mistake(scope: Scope, error: Exception, answering: HeaderCompletion) -> None:
    incident = scope["app"].state.api.network.randomness.bytes(6).hex()
    places = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    log.error(
        "api.incident: incident %s: %s %r failed with %s\n%s",
        incident,
        scope["method"],
        scope["path"],
        type(error).__qualname__,
        places,
        extra={"incident": incident},
    )
    if answering.started:
        raise error
    detail = f"The request failed; try again, and if the error persists, report incident {incident}"
    found = problem("internal", detail, incident=incident)
    headers = [(name.lower().encode(), value.encode()) for name, value in found.headers.items()]
    headers += [(b"content-type", CONTENT_TYPE.encode()), (b"content-length", str(len(found.body)).encode())]
    await answering.send({"type": "http.response.start", "status": found.status, "headers": headers})
    await answering.send({"type": "http.response.body", "body": found.body})
