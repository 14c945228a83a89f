"""Mistakes behind the message endpoints: answered in the caller's form, and logged by their place, never by what they quote."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from postroad.api.as2 import As2Endpoint
from postroad.api.error_responses import front_refusal
from postroad.api.http.capacity import Capacity
from postroad.api.http.fast_calls import serve
from postroad.api.http.head import read_head
from postroad.api.http.limits import HttpLimits
from postroad.api.http.metrics import HttpMetrics
from postroad.api.http.outbox import Outbox
from postroad.api.http.proxy import ClientOrigin
from postroad.api.http.request import FastReply, FastRequest, FastRoutes
from postroad.api.messages import MessageEndpoints
from postroad.core.admission.rate_limit import UNLIMITED
from postroad.core.metrics.registry import Metrics

SECRET = " ".join(("the", "secret", "is", "42"))  # so that no source line says it
POST = b'{"to": ["A/b"]}'


class Kept(Outbox):
    """Keeps the one answer."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.answered = asyncio.Event()
        self.replies = deque()

    def answer(self, reply: FastReply, status: int, body: bytes, *_: Any) -> None:
        reply.answered = True
        self.answers.append((status, body))
        self.answered.set()


class Mistaken:
    """In the place of whatever stands behind an endpoint: everything it is asked for goes wrong."""

    def __init__(self) -> None:
        self.metrics = Metrics()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def fails(*_: object, **__: object) -> Any:
            raise ZeroDivisionError(SECRET)

        return fails

    def find_remembered(self, *_: object) -> Any:
        return Somebody()


class Somebody:
    organization, service = "A", None


class Front:
    metrics = HttpMetrics()
    problem = staticmethod(front_refusal)
    capacity = Capacity(HttpLimits())


def message_endpoints() -> FastRoutes:
    found: Any = Mistaken()
    endpoints = MessageEndpoints(found, found, message_bytes=1000, bulk_bytes=1000)
    endpoints.rate = lambda *_: UNLIMITED  # type: ignore[method-assign]
    return endpoints.routes()


def as2_endpoint() -> FastRoutes:
    found: Any = Mistaken()
    return As2Endpoint(found, found, found.rate, message_bytes=1000).routes()


@pytest.mark.req("Z2")
@pytest.mark.parametrize(
    ("routes", "path", "body"),
    [
        (message_endpoints, "/v1/messages", POST),
        (message_endpoints, "/v1/messages/bulk", POST),
        (message_endpoints, "/v1/ack", b'{"tokens": ["1.a"]}'),
        (message_endpoints, "/v1/poll", b"{}"),
        (as2_endpoint, "/as2", b""),
    ],
)
async def test_a_mistake_is_answered_and_its_text_stays_out_of_the_log(
    routes: Callable[[], FastRoutes], path: str, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    kind = "application/x-ndjson" if path.endswith("bulk") else "application/json"
    head = read_head(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n\r\n".encode(), HttpLimits())
    outbox = Kept()
    front: Any = Front()
    serve(front, outbox, routes()[b"POST", path.encode()], head, ClientOrigin("192.0.2.1", False, None), body, 0.0)
    async with asyncio.timeout(60):
        await outbox.answered.wait()
    [(status, answer)] = outbox.answers
    assert (status, json.loads(answer)["code"]) == (500, "internal")
    assert f"POST {path}" in caplog.text
    assert "ZeroDivisionError" in caplog.text
    assert SECRET not in caplog.text + answer.decode()


@pytest.mark.req("D2")
async def test_for_a_client_that_left_before_we_knew_who_it_is_nothing_is_taken_out_of_its_mailbox(
    caplog: pytest.LogCaptureFixture,
) -> None:
    head = read_head(b"POST /v1/poll HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\r\n", HttpLimits())
    reply = FastReply(Kept(), b"1.1", False, False, 0.0)
    reply.disconnect()
    route = message_endpoints()[b"POST", b"/v1/poll"]
    route.handler(FastRequest(head, ClientOrigin("192.0.2.1", False, None), b"{}", 0.0), reply)
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})
    assert caplog.text == "", "the network was asked for its messages"
