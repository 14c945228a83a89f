"""Clients that are slow, greedy, many or gone: each ends at its deadline and costs the others nothing."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest

from postroad.api.http import FastReply, FastRequest, HttpLimits
from postroad.api.http.request import is_always_post
from tests.samples.front_door import Wire, ask, echo, serving
from tests.waiting import eventually

QUICK = HttpLimits(
    header_deadline_s=0.3, body_deadline_s=0.8, body_grace_s=0.3, body_bytes_per_s=1000, idle_s=0.4, linger_s=0.2,
    capacity_wait_s=0.3, stalled_write_s=0.3,
)  # fmt: skip
PATIENT = HttpLimits(
    header_deadline_s=60,
    body_deadline_s=60,
    body_grace_s=60,
    idle_s=60,
    linger_s=0.2,
    capacity_wait_s=60,
    stalled_write_s=60,
)  # a test shortens the one that it means, so that nothing else can have ended the connection
IN_TIME_S = 30.0  # far less than whatever else would end it, far more than a busy machine needs
HEAD = b"POST /m HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n"


def elapsed_until_answered(wire: Wire) -> tuple[float, int, str]:
    began = time.monotonic()
    response = wire.read()
    return time.monotonic() - began, response.status, response.code


@pytest.mark.req("Z2")
def test_a_head_that_never_ends_is_refused_at_its_deadline() -> None:
    limits = replace(PATIENT, header_deadline_s=0.3)
    with serving({("POST", "/m"): echo}, limits=limits) as served, Wire(served.port) as wire:
        wire.send(HEAD[:-4])
        took_s, status, code = elapsed_until_answered(wire)
        assert (status, code) == (408, "request.timeout")
        assert 0.2 < took_s < IN_TIME_S
        assert wire.ended()


@pytest.mark.req("Z2")
@pytest.mark.parametrize("drop", [b"X-a: b\r\n", b"a", b"\r\n"], ids=["headers", "bytes", "blank lines"])
def test_a_head_that_drips_is_refused_at_the_same_deadline(drop: bytes) -> None:
    limits = replace(PATIENT, header_deadline_s=0.3)
    with serving({("POST", "/m"): echo}, limits=limits) as served, Wire(served.port) as wire:
        wire.send(b"" if drop == b"\r\n" else HEAD[:-2])
        began = time.monotonic()
        while served.server.front.connections or time.monotonic() - began < 0.05:
            assert time.monotonic() - began < IN_TIME_S, "still open"
            try:
                wire.send(drop)
            except OSError:
                break
            time.sleep(0.02)  # sleeps: the client sends slowly


@pytest.mark.req("Z2")
@pytest.mark.parametrize("path", [b"/m", b"/app"])
def test_a_body_that_stops_is_refused(path: bytes) -> None:
    async def reads(scope, receive, send):  # type: ignore[no-untyped-def]
        if scope["type"] == "lifespan":
            raise NotImplementedError
        while (await receive())["type"] != "http.disconnect":
            pass

    limits = replace(PATIENT, body_grace_s=0.3, body_bytes_per_s=1000)
    with serving({("POST", "/m"): echo}, app=reads, limits=limits) as served, Wire(served.port) as wire:
        wire.send(HEAD.replace(b"/m", path) + b"a")
        took_s, status, code = elapsed_until_answered(wire)
        assert (status, code) == (408, "request.timeout")
        assert took_s < IN_TIME_S
        eventually(lambda: not served.server.front.tasks and not served.server.front.connections)


@pytest.mark.req("Z2")
def test_a_body_that_drips_below_the_rate_is_refused_and_one_above_it_is_not() -> None:
    limits = replace(PATIENT, body_grace_s=1.0, body_bytes_per_s=1000)
    with serving({("POST", "/m"): echo}, limits=limits) as served:
        with Wire(served.port) as wire:
            began = time.monotonic()
            wire.send(HEAD.replace(b"3000", b"90000"))
            for _ in range(30):
                wire.send(b"a" * 3000)  # so much that even a machine that stands still for seconds is above the rate
                time.sleep(0.05)  # sleeps: the client sends slowly
            assert wire.read().status == 200
            assert time.monotonic() - began > limits.body_grace_s, "too quick to show anything"
        with Wire(served.port) as wire:
            wire.send(HEAD)
            began = time.monotonic()
            while served.server.front.connections or time.monotonic() - began < 0.05:
                assert time.monotonic() - began < IN_TIME_S, "still open"
                try:
                    wire.send(b"a")
                except OSError:
                    break
                time.sleep(0.02)  # sleeps: the client sends slowly
        eventually(lambda: served.server.front.capacity.body_bytes == 0)


def test_an_idle_connection_is_closed_without_a_word_and_a_busy_one_is_not() -> None:
    kept: list[FastReply] = []

    def poll(request: FastRequest, reply: FastReply) -> None:
        kept.append(reply)

    limits = replace(PATIENT, idle_s=0.4)
    with serving({("GET", "/poll"): poll}, limits=limits) as served, Wire(served.port) as busy:
        busy.send(b"GET /poll HTTP/1.1\r\nHost: x\r\n\r\n")
        eventually(lambda: bool(kept))
        began = time.monotonic()
        with Wire(served.port) as idle:
            assert idle.ended()
        assert 0.3 < time.monotonic() - began < IN_TIME_S
        with Wire(served.port) as later:
            assert later.ended()  # by now the busy one has waited for longer than an idle one may
        served.call(kept[0], 200, b"late", b"text/plain")
        assert busy.read().body == b"late"


def test_an_answer_that_never_comes_ends_the_connection() -> None:
    kept: list[FastReply] = []
    limits = HttpLimits(answer_deadline_s=0.2, idle_s=0.5)
    with serving({("GET", "/m"): lambda request, reply: kept.append(reply)}, limits=limits) as served:
        with Wire(served.port) as wire:
            wire.send(b"GET /m HTTP/1.1\r\nHost: x\r\n\r\n")
            assert wire.ended()
        assert kept[0].closed


@pytest.mark.req("Z2")
def test_a_client_that_reads_nothing_is_cut_off() -> None:
    def large(request: FastRequest, reply: FastReply) -> None:
        reply(200, b"a" * 20_000_000, b"text/plain")

    with serving({("GET", "/m"): large}, limits=QUICK) as served, Wire(served.port) as wire:
        wire.send(b"GET /m HTTP/1.1\r\nHost: x\r\n\r\n" * 100)
        eventually(lambda: bool(served.server.front.connections))
        eventually(lambda: not served.server.front.connections, IN_TIME_S)


def test_a_client_that_reads_slowly_but_steadily_gets_all_of_it() -> None:
    def large(request: FastRequest, reply: FastReply) -> None:
        reply(200, b"a" * 20_000_000, b"text/plain", [(b"x-size", b"large")])

    limits = replace(PATIENT, stalled_write_s=1.0)
    with serving({("GET", "/m"): large}, limits=limits) as served, Wire(served.port) as wire:
        wire.send(b"GET /m HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        received = 0
        began = time.monotonic()
        while data := wire.sock.recv(200_000):
            received += len(data)
            time.sleep(0.025)  # sleeps: the client reads slowly
        assert received > 20_000_000
        assert time.monotonic() - began > 2 * limits.stalled_write_s, "too quick to show anything"


def test_a_client_that_leaves_the_end_of_its_last_answer_unread_is_cut_off() -> None:
    def large(request: FastRequest, reply: FastReply) -> None:
        reply(200, b"a" * 20_000_000, b"text/plain")

    with serving({("GET", "/m"): large}, limits=QUICK) as served, Wire(served.port) as wire:
        wire.send(b"GET /m HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        eventually(lambda: bool(served.server.front.connections))
        eventually(lambda: not served.server.front.connections, IN_TIME_S)


def test_a_mistake_in_one_connections_check_does_not_stop_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving({("GET", "/m"): echo}, limits=QUICK) as served, Wire(served.port) as cursed, Wire(served.port) as idle:
        eventually(lambda: len(served.server.front.connections) == 2)
        victim = next(c for c in served.server.front.connections if c.address("peername") == cursed.sock.getsockname())
        monkeypatch.setattr(victim, "check", lambda now: 1 / 0)
        assert cursed.ended()
        assert idle.ended()


def test_a_listener_that_fails_does_not_keep_the_others_from_hearing() -> None:
    kept: list[FastReply] = []
    heard = threading.Event()

    def mistaken() -> None:
        raise ValueError

    def poll(request: FastRequest, reply: FastReply) -> None:
        kept.append(reply)
        reply.on_disconnect(mistaken if len(kept) == 1 else heard.set)

    with serving({("GET", "/m"): poll}) as served:
        with Wire(served.port) as wire:
            wire.send(b"GET /m HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
            eventually(lambda: len(kept) == 2)
        assert heard.wait(30)


@pytest.mark.req("Z2")
@pytest.mark.parametrize("limit", [{"connections": 3}, {"connections_per_peer": 3}])
def test_connections_beyond_the_limit_are_told_so(limit: dict[str, int]) -> None:
    with serving({("GET", "/m"): echo}, limits=HttpLimits(linger_s=0.2, **limit)) as served:
        wires = [Wire(served.port) for _ in range(3)]
        eventually(lambda: len(served.server.front.connections) == 3)
        response = ask(served.port, b"GET /m HTTP/1.1\r\nHost: x\r\n\r\n")
        assert (response.status, response.code) == (503, "network.busy")
        assert 1 <= int(response.headers["retry-after"]) <= 3
        wires.pop().sock.close()
        eventually(lambda: served.server.front.capacity.connections == 2)
        assert ask(served.port, b"GET /m HTTP/1.1\r\nHost: x\r\n\r\n").status == 200
        for wire in wires:
            wire.sock.close()


def test_a_proxy_is_not_one_peer() -> None:
    limits = HttpLimits(connections_per_peer=1)
    with serving({("GET", "/m"): echo}, limits=limits, proxies=("127.0.0.1",)) as served:
        wires = [Wire(served.port) for _ in range(3)]
        eventually(lambda: served.server.front.capacity.connections == 3)
        for wire in wires:
            wire.sock.close()


POSTS = {"/m": is_always_post}  # small bodies that are no posts do not wait for memory


class Held:
    """A handler whose answers wait, so that its bodies stay in flight."""

    def __init__(self) -> None:
        self.replies: list[FastReply] = []

    def __call__(self, request: FastRequest, reply: FastReply) -> None:
        self.replies.append(reply)


def body_of(size: int) -> bytes:
    return b"POST /m HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size


@pytest.mark.req("Z2")
def test_bodies_wait_for_room_and_go_on_when_there_is_some() -> None:
    held = Held()
    limits = HttpLimits(bodies_in_flight_bytes=1000, capacity_wait_s=60)
    with serving({("POST", "/m"): held, ("GET", "/m"): echo}, limits=limits, posts=POSTS) as served:
        with Wire(served.port) as first, Wire(served.port) as second:
            first.send(body_of(1000))
            eventually(lambda: len(held.replies) == 1)
            second.send(body_of(500))
            eventually(lambda: len(served.server.front.capacity._waiting) == 1)
            assert len(held.replies) == 1
            assert ask(served.port, b"GET /m HTTP/1.1\r\nHost: x\r\n\r\n").status == 200
            served.call(held.replies[0], 200, b"", b"text/plain")
            assert first.read().status == 200
            eventually(lambda: len(held.replies) == 2)
            served.call(held.replies[1], 200, b"", b"text/plain")
            assert second.read().status == 200
        assert served.server.front.capacity.body_bytes == 0


@pytest.mark.req("Z2")
def test_a_body_that_waits_too_long_for_room_is_refused() -> None:
    held = Held()
    limits = HttpLimits(bodies_in_flight_bytes=1000, capacity_wait_s=0.2, linger_s=0.2)
    with serving({("POST", "/m"): held}, limits=limits, posts=POSTS) as served, Wire(served.port) as first:
        first.send(body_of(1000))
        eventually(lambda: len(held.replies) == 1)
        response = ask(served.port, body_of(10))
        assert (response.status, response.code) == (503, "network.busy")


@pytest.mark.req("Z2")
def test_bodies_that_have_begun_never_wait_for_each_other() -> None:
    """Ten bodies that together exceed twice the room: some are refused, the others are whole, and none hangs."""
    limits = HttpLimits(bodies_in_flight_bytes=100_000, linger_s=0.2)
    statuses: list[int] = []

    def send_slowly(port: int) -> None:
        with Wire(port) as wire:
            wire.send(b"POST /m HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
            for _ in range(6):
                time.sleep(0.02)  # sleeps: the client sends slowly
                wire.send(b"a" * 10_000)
            statuses.append(wire.read().status)

    with serving({("POST", "/m"): echo}, limits=limits) as served:
        threads = [threading.Thread(target=send_slowly, args=(served.port,)) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(statuses) == 10
        assert set(statuses) <= {200, 503}
        assert 200 in statuses
        eventually(lambda: served.server.front.capacity.body_bytes == 0)
