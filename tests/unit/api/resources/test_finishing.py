"""A client that leaves is no mistake of ours: nothing is logged about it, and nobody is told an incident."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from postroad.api.resources.response_completion import ResponseCompletion


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the whole body, and answers with it."""
    await PlainTextResponse(await Request(scope, receive).body())(scope, receive, send)


class Client:
    """Sends half a body and is gone, or is gone when it should read the answer."""

    def __init__(self, *, reads: bool) -> None:
        self._events: list[Message] = [{"type": "http.request", "body": b"half", "more_body": not reads}]

    async def receive(self) -> Message:
        return self._events.pop() if self._events else {"type": "http.disconnect"}

    async def send(self, event: Message) -> None:
        raise ConnectionResetError("the client is gone")


@pytest.mark.parametrize("reads", [False, True], ids=["in the middle of its body", "before its answer"])
async def test_who_leaves_is_not_logged_as_an_incident(reads: bool, caplog: pytest.LogCaptureFixture) -> None:
    client = Client(reads=reads)
    scope: dict[str, Any] = {"type": "http", "method": "POST", "path": "/v1/account", "headers": []}
    await ResponseCompletion(echo)(scope, client.receive, client.send)
    assert caplog.text == ""
