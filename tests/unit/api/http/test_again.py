"""A client that repeats its head is served the quick way, and sees no difference to the careful one."""

from __future__ import annotations

import pytest

from postroad.api.http import FastReply, FastRequest
from postroad.api.http.fast_calls import RepeatedHead
from postroad.api.http.head import REMEMBERED_BYTES, read_head
from postroad.api.http.limits import HttpLimits
from postroad.api.http.request import FastRoute
from tests.samples.front_door import Wire, echo, serving

POST = b"POST /m HTTP/1.1\r\nHost: x\r\nX-Who: %b\r\nContent-Length: 3\r\n\r\n%b"
LENGTH = b"Content-Length: 3\r\n"


def who(request: FastRequest, reply: FastReply) -> None:
    reply(200, (request.header(b"x-who") or b"") + b":" + request.body, b"text/plain")


def remembered(*lines: bytes, most: int = 100) -> RepeatedHead | None:
    raw = b"".join((b"POST /m HTTP/1.1\r\nHost: x\r\n", *lines, b"\r\n"))
    return RepeatedHead.of(raw, read_head(raw, HttpLimits()), FastRoute(echo, most))


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_each_request_has_its_own_body_and_its_own_head(loop: str) -> None:
    with serving({("POST", "/m"): who}, loop=loop) as served, Wire(served.port) as wire:
        for name, body in ((b"ann", b"one"), (b"ann", b"two"), (b"bob", b"two"), (b"bob", b"six"), (b"ann", b"ten")):
            wire.send(POST % (name, body))
            assert wire.read().body == name + b":" + body


def test_a_repeated_request_may_come_in_pieces_and_in_company() -> None:
    with serving({("POST", "/m"): who}) as served, Wire(served.port) as wire:
        wire.send(POST % (b"ann", b"one"))
        assert wire.read().body == b"ann:one"
        again = POST % (b"ann", b"two")
        wire.send(again[:-1])
        wire.send(again[-1:] + again + POST % (b"bob", b"six"))
        assert [wire.read().body for _ in range(3)] == [b"ann:two", b"ann:two", b"bob:six"]


def test_a_plain_head_is_remembered_with_the_length_of_its_request() -> None:
    again = remembered(LENGTH)
    assert again is not None
    assert again.whole_bytes == len(again.raw) + 3


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param((LENGTH, b"Connection: close\r\n"), id="the last of its connection"),
        pytest.param((LENGTH, b"X-Forwarded-For: 10.0.0.1\r\n"), id="a proxy speaks in it"),
        pytest.param((b"Content-Length: 101\r\n",), id="too large"),
        pytest.param((b"Transfer-Encoding: chunked\r\n",), id="of unknown length"),
        pytest.param((LENGTH, b"X-Long: " + b"a" * REMEMBERED_BYTES + b"\r\n"), id="a long head"),
    ],
)
def test_what_must_be_looked_at_anew_is_not_remembered(lines: tuple[bytes, ...]) -> None:
    assert remembered(*lines) is None
