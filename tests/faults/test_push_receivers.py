"""Receivers that are slow, broken, greedy or dead: each becomes an answer with a reason, in time and in bounded memory."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.samples.receivers import (
    NAME,
    OK,
    Script,
    Wire,
    answering,
    on,
    pushed,
    pusher,
    receiving,
    to,
)
from tests.waiting import eventually_async, forever

SECOND = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(params=["asyncio", "uvloop"])
def loop(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def after_request(*pieces: bytes, pause_s: float = 0.0, reset: bool = False) -> Script:
    async def script(wire: Wire) -> None:
        await wire.request()
        for piece in pieces:
            await wire.send(piece)
            await asyncio.sleep(pause_s)  # sleeps: a receiver that answers slowly
        if reset:
            wire.reset()

    return script


def endless(piece: bytes, first: bytes = b"", pause_s: float = 0.0) -> Script:
    async def script(wire: Wire) -> None:
        await wire.request()
        await wire.send(first)
        while True:
            await wire.send(piece)
            await asyncio.sleep(pause_s)  # sleeps: a receiver that answers slowly

    return script


@pytest.mark.req("D3")
@pytest.mark.parametrize(
    ("answer", "status", "body"),
    [
        (OK, 200, b"ok"),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, b"until the end"),
        (b"HTTP/1.0 202 Accepted\r\n\r\n", 202, b""),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
        (CHUNKED + b"2\r\nok\r\n3;x=y\r\nay!\r\n0\r\nTrailer: t\r\n\r\n", 200, b"okay!"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 200, b"ok"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + OK, 200, b"ok"),
        (OK + b"and something nobody asked for", 200, b"ok"),
    ],
    ids=["length", "1.0", "1.0 without body", "204", "chunked", "100-continue", "103 and 102", "more after the end"],
)
def test_every_form_of_an_answer_is_read(loop: str, answer: bytes, status: int, body: bytes) -> None:
    async def scenario() -> None:
        told, receiver = await pushed(answering(answer))
        assert (told.status, told.body, told.fault_text) == (status, body, "")
        assert receiver.requests[0].endswith(b"\r\n\r\nhello")

    on(loop, scenario())


def test_an_answer_that_comes_byte_by_byte_is_the_same_answer(loop: str) -> None:
    async def scenario() -> None:
        told, _ = await pushed(after_request(*[bytes([byte]) for byte in OK], pause_s=0.001))
        assert (told.status, told.body, told.content_type) == (200, b"ok", "text/plain")

    on(loop, scenario())


def test_a_late_answer_counts_as_long_as_it_is_in_time(loop: str) -> None:
    def late(seconds: float) -> Script:
        async def script(wire: Wire) -> None:
            await wire.request()
            await asyncio.sleep(seconds)  # sleeps: a receiver that answers slowly
            await wire.send(OK)

        return script

    async def scenario() -> None:
        assert (await pushed(late(0.3), timeout_s=20.0))[0].status == 200
        told, _ = await pushed(late(20.0), timeout_s=0.1)
        assert told.status is None
        assert "in time" in told.fault_text

    on(loop, scenario())


async def _never(wire: Wire) -> None:
    await wire.request()
    await forever()


async def _reads_nothing(wire: Wire) -> None:
    wire.writer.transport.pause_reading()  # type: ignore[attr-defined]
    await forever()


@pytest.mark.req("D8")
@pytest.mark.parametrize(
    "script",
    [
        _never,
        _reads_nothing,
        endless(b"X", b"HTTP/1.1 200 OK\r\nX-Slow: ", pause_s=0.01),
        endless(b"x", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", pause_s=0.01),
        endless(b"HTTP/1.1 100 Continue\r\n\r\n", pause_s=0.01),
    ],
    ids=["never answers", "never reads", "drips its head", "drips its body", "says continue indefinitely"],
)
def test_who_does_not_come_to_an_end_is_left_at_the_deadline(loop: str, script: Script) -> None:
    async def scenario() -> None:
        began = time.monotonic()
        told, _ = await pushed(script, timeout_s=0.4, body=bytes(8 << 20))
        assert told.status is None
        assert "in time" in told.fault_text
        assert 0.3 < time.monotonic() - began < 30

    on(loop, scenario())


@pytest.mark.req("Z4")
@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (endless(b"x" * 4096, b"HTTP/1.1 200 OK\r\n\r\n"), "longer than 65536 bytes"),
        (endless(b"1000\r\n" + b"x" * 4096 + b"\r\n", CHUNKED), "longer than 65536 bytes"),
        (endless(b"x" * 4096, CHUNKED + b"1;"), "longer than 65536 bytes"),
        (endless(b"X-Header: value\r\n", b"HTTP/1.1 200 OK\r\n"), "head of its answer is longer"),
        (endless(b"x" * 4096, b"HTTP/1.1 200 OK\r\nX-Long: "), "head of its answer is longer"),
        (endless(b"HTTP/1.1 100 Continue\r\n\r\n"), "head of its answer is longer"),
    ],
    ids=["body", "chunks", "chunk extension", "headers", "one header", "interim answers"],
)
def test_who_sends_without_end_is_cut_off_long_before_the_deadline(loop: str, script: Script, reason: str) -> None:
    async def scenario() -> None:
        began = time.monotonic()
        told, _ = await pushed(script, timeout_s=100.0)
        assert told.status is None
        assert reason in told.fault_text
        assert told.body == b""
        assert time.monotonic() - began < 50

    on(loop, scenario())


def test_of_a_failure_four_kibibytes_are_kept_and_the_status_counts(loop: str) -> None:
    async def scenario() -> None:
        told, _ = await pushed(endless(b"x" * 4096, b"HTTP/1.1 500 Oops\r\nRetry-After: 7\r\n\r\n"))
        assert (told.status, told.retry_after_s, told.body) == (500, 7.0, b"x" * 4096)
        told, _ = await pushed(after_request(b"HTTP/1.1 503 Busy\r\nContent-Length: 99\r\n\r\nnot", reset=True))
        assert told.status == 503
        slow = endless(b"x", b"HTTP/1.1 410 Gone\r\nContent-Length: 9999\r\n\r\n", pause_s=0.01)
        told, _ = await pushed(slow, timeout_s=2.0)
        assert told.status == 410

    on(loop, scenario())


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"\x15\x03\x01\x00\x02\x02\x28",
        b"\x00" * 100,
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        CHUNKED + b"zz\r\nno\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nxx",
    ],
)  # fmt: skip
def test_garbage_is_no_answer(loop: str, answer: bytes) -> None:
    async def scenario() -> None:
        told, _ = await pushed(after_request(answer, pause_s=0.05))
        assert told.status is None
        assert "not HTTP" in told.fault_text or "another protocol" in told.fault_text

    on(loop, scenario())


@pytest.mark.parametrize("reset", [False, True])
def test_a_success_counts_only_when_it_is_complete(loop: str, reset: bool) -> None:
    async def scenario() -> None:
        told, _ = await pushed(after_request(OK, pause_s=0.02, reset=reset))
        assert (told.status, told.body) == (200, b"ok")
        told, _ = await pushed(after_request(OK[:-1], pause_s=0.02, reset=reset))
        assert told.status is None
        assert told.fault_text

    on(loop, scenario())


def test_who_closes_at_once_gave_no_answer(loop: str) -> None:
    async def closes(wire: Wire) -> None:
        wire.writer.close()

    async def resets(wire: Wire) -> None:
        wire.reset()

    async def scenario() -> None:
        for script in (closes, resets):
            told, receiver = await pushed(script, body=bytes(1 << 20))
            assert told.status is None
            assert told.fault_text
            assert receiver.connections == 1

    on(loop, scenario())


def test_where_nothing_listens_the_port_is_named_as_the_reason(loop: str) -> None:
    async def scenario() -> None:
        async with receiving(answering(OK)) as receiver:
            pass
        out = pusher()
        told = await out.push(to(receiver))
        assert (told.status, told.fault_text) == (None, f"{NAME}: nothing listens on that port")

    on(loop, scenario())


def test_an_early_refusal_of_a_large_body_is_heard(loop: str) -> None:
    async def refuses(wire: Wire) -> None:
        await wire.reader.readuntil(b"\r\n\r\n")
        await wire.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        await forever()  # the answer is heard all the same

    async def scenario() -> None:
        told, _ = await pushed(refuses, body=bytes(32 << 20))
        assert told.status == 413

    on(loop, scenario())


@pytest.mark.req("Z4")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_told_and_not_followed(loop: str, status: int) -> None:
    async def scenario() -> None:
        async with receiving(answering(OK)) as secret:
            location = f"http://127.0.0.1:{secret.port}/secret".encode()
            redirect = b"HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % (status, location)
            told, receiver = await pushed(answering(redirect))
        assert (told.status, receiver.connections, secret.connections) == (status, 1, 0)

    on(loop, scenario())


def test_a_connection_is_used_again_and_a_stale_one_replaced(loop: str) -> None:
    async def scenario() -> None:
        async with receiving(answering(OK, SECOND)) as receiver:
            out = pusher()
            assert [(await out.push(to(receiver))).body for _ in range(3)] == [b"ok", b"second", b"ok"]
            assert receiver.connections == 2
            await out.close()

    on(loop, scenario())


def test_a_connection_that_dies_under_a_request_is_replaced_once(loop: str) -> None:
    async def reads_and_dies(wire: Wire) -> None:
        await wire.request()
        await wire.send(OK)
        await wire.request()  # and no answer to this one

    async def scenario() -> None:
        async with receiving(reads_and_dies) as receiver:
            out = pusher()
            assert [(await out.push(to(receiver))).status for _ in range(2)] == [200, 200]
            assert (receiver.connections, len(receiver.requests)) == (2, 3)
            await out.close()

    on(loop, scenario())


def test_what_a_receiver_sends_between_requests_is_never_taken_for_an_answer(loop: str) -> None:
    async def scenario() -> None:
        has_answer = asyncio.Event()

        async def talks(wire: Wire) -> None:
            await wire.request()
            await wire.send(OK)
            await has_answer.wait()
            has_answer.clear()
            await wire.send(SECOND)
            await forever()  # it is the pusher that closes

        async with receiving(talks) as receiver:
            out = pusher()
            await out.push(to(receiver))
            [kept] = out._idle._resting
            assert kept.open
            has_answer.set()
            await eventually_async(lambda: not kept.open, 20)  # sooner than one that only rests is closed
            assert (await out.push(to(receiver))).body == b"ok"
            assert receiver.connections == 2
            await out.close()

    on(loop, scenario())


def test_nobody_waits_for_another_receiver(loop: str) -> None:
    async def scenario() -> None:
        async with receiving(_never) as hanging, receiving(answering(OK, OK, OK)) as good:
            out = pusher()
            stuck = [asyncio.create_task(out.push(to(hanging, timeout_s=3.0))) for _ in range(50)]
            assert [(await out.push(to(good))).status for _ in range(3)] == [200] * 3
            assert not any(told.done() for told in stuck)
            assert {(await told).status for told in stuck} == {None}
            await out.close()

    on(loop, scenario())
