"""Posts on real connections while storage or memory is short: they wait, are served, or are refused; all else goes on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postroad.api.http.limits import HttpLimits
from postroad.api.http.load import ServerLoad
from postroad.api.http.request import is_always_post
from postroad.core.metrics.registry import Metrics
from tests.samples.front_door import LOOPS, Served, Wire, echo, serving
from tests.waiting import eventually

ROUTES = {("POST", path): echo for path in ("/post", "/ack", "/soap")}


class Load:
    """What a test sets."""

    def __init__(self) -> None:
        self.is_behind = False
        self.is_short = False
        self.metrics = Metrics()

    def sensors(self) -> ServerLoad:
        return ServerLoad(is_storage_behind=lambda: self.is_behind, is_memory_short=lambda: self.is_short)


def is_soap_post(body: bytes) -> bool:
    return not body.startswith(b"<ack")


def request(path: str, body: bytes, *headers: bytes) -> bytes:
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % (path.encode(), len(body))
    return head + b"".join(header + b"\r\n" for header in headers) + b"\r\n" + body


@pytest.fixture
def load() -> Load:
    return Load()


@pytest.fixture(params=sorted(LOOPS))
def served(load: Load, request: pytest.FixtureRequest) -> Iterator[Served]:
    limits = HttpLimits(capacity_wait_s=0.3, linger_s=0.2)
    posts = {"/post": is_always_post, "/soap": is_soap_post}
    with serving(
        ROUTES, limits=limits, posts=posts, load=load.sensors(), loop=request.param, metrics=load.metrics
    ) as running:
        yield running


def fall_behind(served: Served, load: Load) -> None:
    """Let storage be behind, and use up the credit of this turn."""
    load.is_behind = True
    served.call(lambda: [served.server.front.posts.admits(100) for _ in range(100)])


def test_a_post_is_refused_in_time_and_its_connection_stays_usable(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        wire.send(request("/post", b"one"))
        answer = wire.read()
        assert (answer.status, answer.code, answer.path) == (503, "network.busy", "/post")
        assert int(answer.headers["retry-after"]) in (1, 2, 3)
        load.is_behind = False
        wire.send(request("/post", b"two"))
        assert (wire.read().status, served.server.front.posts.refused) == (200, 1)
    assert load.metrics.value("posts_total", "unavailable", "other") == 1
    assert load.metrics.value("post_refusals_total", "network.busy") == 1


def test_a_post_that_waits_is_served_when_storage_is_no_longer_behind(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        wire.send(request("/post", b"one"))
        eventually(lambda: served.server.front.posts.waiting == 1 or served.server.front.posts.refused, every_s=0.0)
        load.is_behind = False
        assert wire.read().status in (200, 503)  # 503 on a machine that slept for longer than the post may wait
        assert served.server.front.posts.waiting == 0


def test_polls_and_acknowledgements_pass_on_their_own_and_on_shared_addresses(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        for path, body in (("/ack", b"1"), ("/soap", b"<ack>1</ack>")):
            wire.send(request(path, body))
            assert wire.read().body == body
        whole = request("/soap", b"<ack>2</ack>")
        wire.send(whole[:-4])
        wire.send(whole[-4:])
        assert wire.read().body == b"<ack>2</ack>"
        wire.send(request("/soap", b"<post/>"))
        assert wire.read().code == "network.busy"


def test_every_pipelined_post_is_answered_in_order(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        posts = [request("/post", b"%d" % number * (1 + number % 3)) for number in range(40)]
        wire.send(b"".join(posts) + request("/ack", b"last"))
        assert [wire.read().code for _ in posts] == ["network.busy"] * 40
        assert wire.read().body == b"last"
    assert load.metrics.value("posts_total", "unavailable", "other") == 40
    assert load.metrics.value("http_requests_total", "api", "5xx") == 40


def test_every_pipelined_post_is_refused_in_its_own_format(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        paths = ["/post", "/soap", "/soap", "/post", "/post", "/soap"]
        wire.send(b"".join(request(path, b"<post/>") for path in paths))
        assert [wire.read().path for _ in paths] == paths


def test_each_refusal_has_the_format_of_its_own_request(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        paths = ["/post", "/post", "/soap", "/post", "/soap", "/soap"]
        wire.send(b"".join(request(path, b"<post/>" * (1 + place)) for place, path in enumerate(paths)))
        assert [wire.read().path for _ in paths] == paths


def test_what_is_wrong_behind_a_waiting_post_gets_its_own_code(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        wire.send(request("/post", b"one") + b"BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n")
        assert [wire.read().code for _ in range(2)] == ["network.busy", "request.not-implemented"]
        assert wire.ended()


def test_only_the_oldest_posts_are_refused_when_too_many_wait_on_one_connection(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        wire.send(request("/post", bytes(8_000)))
        eventually(lambda: served.server.front.posts.waiting == 1 or served.server.front.posts.refused, every_s=0.0)
        for _ in range(19):
            wire.send(request("/post", bytes(8_000)))
        first = wire.read()
        load.is_behind = False
        answers = [first, *(wire.read() for _ in range(19))]
        assert answers[0].status == 503
        assert [answer.status for answer in answers] == sorted([answer.status for answer in answers], reverse=True)


def test_a_connection_that_waits_is_read_once_in_each_turn(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        wire.send(request("/post", b"one"))
        eventually(lambda: served.server.front.posts.waiting == 1 or served.server.front.posts.refused, every_s=0.0)
        (connection,) = served.server.front.connections
        wire.send(request("/post", b"two"))
        eventually(lambda: not connection._reads.is_open or served.server.front.posts.refused, every_s=0.0)
        served.call(connection._sent, False)  # an earlier response was sent
        served.call(lambda: None)
        assert not connection._reads.is_open or served.server.front.posts.refused


def test_the_body_of_a_large_post_that_waits_is_not_read(served: Served, load: Load) -> None:
    """It cannot be refused piece by piece, so it would fill the memory until its turn."""
    fall_behind(served, load)
    with Wire(served.port):
        eventually(lambda: len(served.server.front.connections) == 1)
        (connection,) = served.server.front.connections

        def receive() -> tuple[bool, bool]:
            whole = request("/post", bytes(1_000_000))
            connection.data_received(whole[:1_000])
            connection.data_received(whole[1_000:200_000])
            return connection._gate.waits_for_turn, connection._reads.is_open

        assert served.call(receive) == (True, False)


def test_posts_of_a_client_that_does_not_read_are_not_refused_without_end(served: Served, load: Load) -> None:
    """Each refusal would be kept in memory."""
    fall_behind(served, load)
    with Wire(served.port):
        eventually(lambda: len(served.server.front.connections) == 1)
        (connection,) = served.server.front.connections

        def receive() -> tuple[bool, bool]:
            connection.data_received(request("/post", b"one"))
            connection.pause_writing()  # the client has not read earlier responses
            connection.data_received(request("/post", bytes(8_000)) * 20)
            return connection._gate.waits_for_turn, connection._reads.is_open

        assert served.call(receive) == (True, False)
        served.call(connection.resume_writing)


@pytest.mark.parametrize("headers", [(b"Expect: 100-continue",), ()])
def test_a_large_post_is_refused_before_its_body_is_read(
    served: Served, load: Load, headers: tuple[bytes, ...]
) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        whole = request("/post", bytes(200_000), *headers)
        wire.send(whole[: whole.index(b"\r\n\r\n") + 4])
        assert wire.read().code == "network.busy"
        assert wire.ended()


def test_a_client_that_leaves_while_its_post_waits_is_forgotten(served: Served, load: Load) -> None:
    fall_behind(served, load)
    with Wire(served.port) as wire:
        wire.send(request("/post", b"one"))
        eventually(lambda: served.server.front.posts.waiting == 1 or served.server.front.posts.refused, every_s=0.0)
    eventually(lambda: served.server.front.posts.waiting == 0 and not served.server.front.connections)


def test_above_the_memory_watermark_posts_wait_and_are_then_refused(served: Served, load: Load) -> None:
    load.is_short = True
    eventually(lambda: served.server.front.capacity.is_memory_short)
    with Wire(served.port) as wire, Wire(served.port) as other:
        wire.send(request("/post", b"one"))
        for path, body in (("/ack", b"1"), ("/soap", b"<ack>1</ack>")):
            other.send(request(path, body))
            assert other.read().body == body
        answer = wire.read()
        assert (answer.status, answer.code) == (503, "network.busy")
        assert "retry-after" in answer.headers
    assert load.metrics.value("posts_total", "unavailable", "other") == 1
    assert load.metrics.value("post_refusals_total", "network.busy") == 1
    assert load.metrics.value("http_requests_total", "api", "5xx") == 1


def test_a_request_that_is_no_post_is_not_counted_as_one(served: Served, load: Load) -> None:
    served.call(lambda: served.server.front.capacity.hold(1 << 40))
    with Wire(served.port) as wire:
        wire.send(request("/soap", b"<ack>1</ack>"))
        assert wire.read().code == "network.busy"
    assert load.metrics.value("posts_total", "unavailable", "other") == 0
    assert load.metrics.value("http_requests_total", "api", "5xx") == 1


def test_a_head_that_cannot_be_read_is_not_counted_under_the_route_before_it(served: Served, load: Load) -> None:
    with Wire(served.port) as wire:
        wire.send(request("/post", b"one") + b"BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n")
        assert [wire.read().status for _ in range(2)] == [200, 501]
    assert load.metrics.value("http_requests_total", "api", "5xx") == 0


def test_below_the_memory_watermark_waiting_posts_continue(load: Load) -> None:
    with serving(ROUTES, posts={"/post": is_always_post}, load=load.sensors()) as served, Wire(served.port) as wire:
        load.is_short = True
        eventually(lambda: served.server.front.capacity.is_memory_short)
        wire.send(request("/post", b"one"))
        eventually(lambda: served.server.front.capacity._waiting)
        load.is_short = False
        assert wire.read().body == b"one"
