"""A connection as a client sees it: keep-alive, pipelining, late answers, 100-continue, HEAD, HTTP/1.0, mistakes, draining."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from postroad.api.http import FastReply, FastRequest, HttpLimits, HttpServer
from tests.samples.front_door import JSON, Served, Wire, ask, echo, not_found, problem, serving
from tests.waiting import eventually

POST = b"POST /m HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b"


def post(body: bytes) -> bytes:
    return POST % (len(body), body)


@pytest.fixture(params=["asyncio", "uvloop"])
def loop(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Later:
    """A handler that keeps its replies until the test answers them."""

    def __init__(self) -> None:
        self.kept: list[tuple[FastRequest, FastReply]] = []

    def __call__(self, request: FastRequest, reply: FastReply) -> None:
        self.kept.append((request, reply))

    def answer(self, served: Served, position: int, status: int = 200) -> None:
        request, reply = self.kept[position]
        served.call(reply, status, request.body, b"text/plain")


@pytest.fixture
def later() -> Later:
    return Later()


def test_serves_request_after_request_on_one_connection(loop: str) -> None:
    with serving({("POST", "/m"): echo}, loop=loop) as served, Wire(served.port) as wire:
        for number in range(5):
            wire.send(POST.replace(b"/m", b"/m?a=%d" % number) % (3, b"abc"))
            response = wire.read()
            assert (response.status, response.body) == (200, b"abc")
            assert response.headers["x-query"] == f"a={number}"
            assert response.headers["content-type"] == "text/plain"
            assert "date" in response.headers


def test_a_request_knows_what_arrived() -> None:
    seen: list[FastRequest] = []

    def keep(request: FastRequest, reply: FastReply) -> None:
        seen.append(request)
        reply(204, b"", b"")

    with serving({("PUT", "/a"): keep}) as served:
        assert ask(served.port, b"PUT /a?b=c HTTP/1.1\r\nHost: x\r\nX-One: 1 \r\nx-one:2\r\n\r\n").status == 204
    request = seen[0]
    assert (request.method, request.path, request.query, request.body) == (b"PUT", b"/a", b"b=c", b"")
    assert request.header(b"x-one") == b"1"
    assert request.headers[1:] == [(b"x-one", b"1"), (b"x-one", b"2")]
    assert request.header(b"absent") is None
    assert (request.peer, request.secure, request.client_certificate_der) == ("127.0.0.1", False, None)


def test_chunked_bodies_arrive_whole(loop: str) -> None:
    head = b"POST /m HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"
    with serving({("POST", "/m"): echo}, loop=loop) as served, Wire(served.port) as wire:
        wire.send(head + b"3\r\nabc\r\n4;ext=1\r\ndefg\r\n0\r\nX-Sum: 1\r\n\r\n" + post(b"next"))
        assert wire.read().body == b"abcdefg"
        assert wire.read().body == b"next"


def test_answers_leave_in_the_order_of_the_requests(loop: str, later: Later) -> None:
    with serving({("POST", "/m"): later, ("POST", "/now"): echo}, loop=loop) as served, Wire(served.port) as wire:
        wire.send(post(b"one") + post(b"two") + POST.replace(b"/m", b"/now") % (5, b"three") + post(b"four"))
        eventually(lambda: len(later.kept) == 3)
        for position in (2, 1, 0):
            later.answer(served, position)
        assert [wire.read().body for _ in range(4)] == [b"one", b"two", b"three", b"four"]


def test_an_application_request_waits_for_the_answers_before_it(later: Later) -> None:
    with serving({("POST", "/m"): later}) as served, Wire(served.port) as wire:
        wire.send(post(b"one") + b"GET /app HTTP/1.1\r\nHost: x\r\n\r\n" + post(b"two"))
        eventually(lambda: len(later.kept) == 1)
        later.answer(served, 0)
        assert [wire.read().status for _ in range(2)] == [200, 404]
        eventually(lambda: len(later.kept) == 2)
        later.answer(served, 1)
        assert wire.read().body == b"two"


def test_pipelining_stops_at_its_limit_and_goes_on(later: Later) -> None:
    with serving({("POST", "/m"): later}, limits=HttpLimits(pipelined=2)) as served, Wire(served.port) as wire:
        wire.send(b"".join(post(b"%d" % n) for n in range(5)))
        eventually(lambda: len(later.kept) == 2)
        assert ask(served.port, b"GET /later HTTP/1.1\r\nHost: x\r\n\r\n").status == 404  # all five have come before it
        assert len(later.kept) == 2
        for position in range(5):
            eventually(lambda position=position: len(later.kept) > position)  # type: ignore[misc]
            later.answer(served, position)
        assert [wire.read().body for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_reply_is_called_exactly_once(later: Later) -> None:
    with serving({("POST", "/m"): later}) as served, Wire(served.port) as wire:
        wire.send(post(b"a"))
        eventually(lambda: len(later.kept) == 1)
        later.answer(served, 0)
        with pytest.raises(RuntimeError, match="exactly once"):
            later.answer(served, 0)
        assert wire.read().body == b"a"


def test_a_client_that_left_is_no_error(loop: str, later: Later) -> None:
    left = threading.Event()
    with serving({("POST", "/m"): later}, loop=loop) as served:
        with Wire(served.port) as wire:
            wire.send(post(b"a"))
            eventually(lambda: len(later.kept) == 1)
            reply = later.kept[0][1]
            served.call(reply.on_disconnect, left.set)
        assert left.wait(30)
        assert reply.closed
        later.answer(served, 0)
        again = threading.Event()
        served.call(reply.on_disconnect, again.set)
        assert again.is_set()
        assert served.server.front.capacity.body_bytes == 0


@pytest.mark.req("D1")
def test_a_client_that_closes_its_side_is_answered_what_it_has_asked_for(loop: str, later: Later) -> None:
    """As programs do that have sent all they wanted to send: what they posted counts, and they would post it again."""
    with serving({("POST", "/m"): later}, loop=loop) as served, Wire(served.port) as wire:
        wire.send(post(b"one") + post(b"two") + post(b"cut off")[:-1])
        eventually(lambda: len(later.kept) == 2)
        wire.sock.shutdown(socket.SHUT_WR)
        eventually(lambda: all(one._input_closed for one in served.server.front.connections))
        later.answer(served, 1)
        later.answer(served, 0)
        assert [wire.read().body for _ in range(2)] == [b"one", b"two"]
        assert wire.ended()
        eventually(lambda: not served.server.front.connections)


def test_a_client_that_closes_its_side_waits_for_no_news(loop: str, later: Later) -> None:
    left = threading.Event()
    with serving({("POST", "/m"): later}, loop=loop) as served, Wire(served.port) as wire:
        wire.send(post(b"poll"))
        eventually(lambda: len(later.kept) == 1)
        served.call(later.kept[0][1].on_disconnect, left.set)
        wire.sock.shutdown(socket.SHUT_WR)
        assert left.wait(30)
        assert wire.ended()


def test_an_answered_client_that_leaves_disturbs_nobody(later: Later) -> None:
    called = threading.Event()
    with serving({("POST", "/m"): later}) as served:
        with Wire(served.port) as wire:
            wire.send(post(b"a"))
            eventually(lambda: len(later.kept) == 1)
            served.call(later.kept[0][1].on_disconnect, called.set)
            later.answer(served, 0)
            wire.read()
        eventually(lambda: not served.server.front.connections)
        assert not called.is_set()


def test_expect_100_continue_is_answered_before_the_body() -> None:
    head = b"POST /m HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    with serving({("POST", "/m"): echo}) as served, Wire(served.port) as wire:
        wire.send(head)
        assert wire.read().status == 100
        wire.send(b"abc")
        assert wire.read().body == b"abc"
        wire.send(head + b"abc")  # a client that does not wait gets no interim answer
        assert wire.read().body == b"abc"


def test_expect_100_continue_waits_for_earlier_answers(later: Later) -> None:
    head = b"POST /m HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    with serving({("POST", "/m"): later}) as served, Wire(served.port) as wire:
        wire.send(post(b"one") + head)
        eventually(lambda: len(later.kept) == 1)
        later.answer(served, 0)
        assert [wire.read().status, wire.read().status] == [200, 100]
        wire.send(b"two")
        eventually(lambda: len(later.kept) == 2)
        later.answer(served, 1)
        assert wire.read().body == b"two"


@pytest.mark.req("Z2")
def test_a_client_that_waits_for_100_continue_is_not_called_slow(later: Later) -> None:
    head = b"POST /m HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    limits = HttpLimits(body_grace_s=0.2, body_deadline_s=0.3, linger_s=0.1)
    with serving({("POST", "/m"): later}, limits=limits) as served, Wire(served.port) as wire:
        wire.send(post(b"one") + head)
        eventually(lambda: len(later.kept) == 1)
        with Wire(served.port) as slow:
            slow.send(POST[: POST.index(b"%d")] + b"3\r\n\r\na")
            assert slow.read().code == "request.timeout"  # a body that had to come sooner would have come too late, too
        later.answer(served, 0)
        assert [wire.read().status, wire.read().status] == [200, 100]
        assert wire.read().code == "request.timeout", "from now on it is the client that we wait for"


def test_an_expectation_that_cannot_be_met_is_told_before_the_body_is_sent() -> None:
    head = b"POST /m HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 30\r\n\r\n"
    with serving({("POST", "/m"): echo}, max_body=10) as served:
        assert ask(served.port, head).status == 413


def test_head_is_answered_like_get_without_the_body() -> None:
    def hello(request: FastRequest, reply: FastReply) -> None:
        reply(200, b"hello", b"text/plain")

    with serving({("GET", "/h"): hello}) as served, Wire(served.port) as wire:
        wire.send(b"HEAD /h HTTP/1.1\r\nHost: x\r\n\r\nGET /h HTTP/1.1\r\nHost: x\r\n\r\n")
        assert wire.read(head_only=True).headers["content-length"] == "5"
        assert wire.read().body == b"hello"


def test_http_1_0_closes_unless_asked_to_stay() -> None:
    with serving({("GET", "/m"): echo}) as served, Wire(served.port) as wire:
        wire.send(b"GET /m HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        assert wire.read().headers["connection"] == "keep-alive"
        wire.send(b"GET /m HTTP/1.0\r\n\r\n")
        assert wire.read().headers["connection"] == "close"
        assert wire.ended()


def test_connection_close_ends_it_and_later_bytes_mean_nothing(later: Later) -> None:
    with serving({("POST", "/m"): later}) as served, Wire(served.port) as wire:
        wire.send(b"POST /m HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + post(b"ignored"))
        eventually(lambda: len(later.kept) == 1)
        later.answer(served, 0)
        assert wire.read().headers["connection"] == "close"
        assert wire.ended()
        assert len(later.kept) == 1


def test_absolute_and_asterisk_targets() -> None:
    with serving({("GET", "/m"): echo, ("GET", "/"): echo, ("OPTIONS", "*"): echo}) as served:
        assert ask(served.port, b"GET http://x/m?q HTTP/1.1\r\nHost: x\r\n\r\n").headers["x-query"] == "q"
        assert ask(served.port, b"GET http://x?q HTTP/1.1\r\nHost: x\r\n\r\n").headers["x-path"] == "/"
        assert ask(served.port, b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n").status == 200


def test_an_offer_to_upgrade_to_http2_is_declined_by_answering() -> None:
    with serving({("GET", "/m"): echo}) as served:
        request = b"GET /m HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
        assert ask(served.port, request).status == 200


def test_a_handler_that_fails_is_answered_500_and_the_log_keeps_the_payload_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(request: FastRequest, reply: FastReply) -> None:
        raise ValueError(f"cannot read {request.body!r}")

    with (
        caplog.at_level(logging.ERROR, "postroad.http"),
        serving({("POST", "/m"): broken, ("POST", "/ok"): echo}) as served,
        Wire(served.port) as wire,
    ):
        wire.send(post(b"secret-payload") + POST.replace(b"/m", b"/ok") % (2, b"ok"))
        response = wire.read()
        assert (response.status, response.code) == (500, "internal")
        assert wire.read().body == b"ok"
    assert "ValueError" in caplog.text
    assert "in broken" in caplog.text
    assert "secret-payload" not in caplog.text


@pytest.mark.parametrize("value", [b"a\r\nx-evil: 1", b"a\nb", b"a\rb", b"a\0b"])
def test_an_answer_cannot_be_split_by_a_header_value(value: bytes) -> None:
    def careless(request: FastRequest, reply: FastReply) -> None:
        reply(200, b"", JSON, [(b"x-user", value)])

    with serving({("GET", "/m"): careless}) as served:
        response = ask(served.port, b"GET /m HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (response.status, response.code) == (500, "internal")
        assert "x-evil" not in response.headers


def test_stopping_answers_what_has_begun_and_begins_nothing(later: Later) -> None:
    with serving({("POST", "/m"): later}) as served, Wire(served.port) as busy, Wire(served.port) as idle:
        busy.send(post(b"begun"))
        eventually(lambda: len(later.kept) == 1 and len(served.server.front.connections) == 2)
        stopping = threading.Thread(target=served.wait, args=(served.server.stop(5.0),))
        stopping.start()
        assert idle.ended()
        busy.send(post(b"too late"))
        eventually(lambda: any(b"too late" in one._pending for one in served.server.front.connections))
        later.answer(served, 0)
        response = busy.read()
        assert (response.body, response.headers["connection"]) == (b"begun", "close")
        assert busy.ended()
        stopping.join(20)
        assert not stopping.is_alive()
        assert len(later.kept) == 1
        with pytest.raises(OSError, match="refused"):
            Wire(served.port)


def test_stopping_cuts_what_does_not_end_in_time(later: Later) -> None:
    with serving({("POST", "/m"): later}) as served, Wire(served.port) as wire:
        wire.send(post(b"never answered"))
        eventually(lambda: len(later.kept) == 1)
        began = time.monotonic()
        served.wait(served.server.stop(0.1))
        assert time.monotonic() - began < 20
        assert wire.ended()


def test_two_servers_can_share_a_port() -> None:
    with serving({("GET", "/m"): echo}, reuse_port=True) as one:
        second = HttpServer(not_found, {}, HttpLimits(), problem, reuse_port=True)
        assert one.wait(second.start("127.0.0.1", one.port)) == one.port
        one.wait(second.stop(0))


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    eventually(lambda: threading.active_count() <= before)
