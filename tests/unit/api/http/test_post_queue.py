"""Which posts start in a turn of the event loop, whose turn comes next, and which posts are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from postroad.api.http.post_queue import MAX_WAIT_S, PATIENT_WAIT_S, QUANTUM, TURN_CREDIT, PostQueue


class Loop:
    """An event loop whose turns and time a test decides."""

    def __init__(self) -> None:
        self.now = 100.0
        self._due: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now

    def call_soon(self, work: Callable[[], object]) -> None:
        self._due.append((self.now, work))

    def call_later(self, delay_s: float, work: Callable[[], object]) -> None:
        self._due.append((self.now + delay_s, work))

    def turn(self, seconds: float = 0.0) -> None:
        self.now += seconds
        due = [work for at, work in self._due if at <= self.now]
        self._due = [(at, work) for at, work in self._due if at > self.now]
        for work in due:
            work()


class Connection:
    """Has so many posts to start, and waits again for those that it may not."""

    def __init__(self, queue: PostQueue, organization: str, posts: int) -> None:
        self._queue = queue
        self._organization = organization
        self.posts = posts
        self.started = 0
        self.refused = 0

    def arrive(self) -> None:
        while self.posts:
            if not self._queue.admits(100):
                self._queue.wait(self, self._organization)
                return
            self.posts -= 1
            self.started += 1

    def serve_waiting(self, most: int) -> None:
        self.arrive()

    def refuse_waiting(self) -> None:
        self.refused, self.posts = self.refused + self.posts, 0


class Behind:
    def __init__(self) -> None:
        self.is_behind = False

    def __call__(self) -> bool:
        return self.is_behind


def make_queue() -> tuple[Loop, Behind, PostQueue]:
    loop, behind = Loop(), Behind()
    return loop, behind, PostQueue(cast(asyncio.AbstractEventLoop, loop), behind)


def test_a_turn_starts_a_limited_number_of_posts_and_the_next_turn_the_others() -> None:
    loop, _, queue = make_queue()
    one = Connection(queue, "Acme", TURN_CREDIT + 10)
    one.arrive()
    assert (one.started, queue.waiting) == (TURN_CREDIT, 1)
    loop.turn()
    assert (one.started, queue.waiting) == (TURN_CREDIT + 10, 0)


def test_a_server_with_little_to_do_schedules_nothing() -> None:
    loop, _, queue = make_queue()
    for _ in range(16):
        assert queue.admits(100)
    loop.turn()
    assert cast(Any, loop)._due == []


def test_a_large_post_costs_more_credit() -> None:
    _, _, queue = make_queue()
    started = 0
    while queue.admits(1 << 20):
        started += 1
    assert started == 1


def test_organizations_take_turns_however_many_connections_one_has() -> None:
    loop, _, queue = make_queue()
    flood = [Connection(queue, "Flooder", 1_000) for _ in range(50)]
    for connection in flood:
        connection.arrive()
    neighbour = Connection(queue, "Village", 10)
    neighbour.arrive()
    assert neighbour.started == 0  # its post does not pass those that wait
    before = sum(connection.started for connection in flood)
    loop.turn()
    assert neighbour.started == 10
    assert sum(connection.started for connection in flood) - before == TURN_CREDIT - 10


def test_connections_of_one_organization_take_turns() -> None:
    loop, _, queue = make_queue()
    connections = [Connection(queue, "Flooder", 1_000) for _ in range(TURN_CREDIT // QUANTUM + 1)]
    for connection in connections:
        connection.arrive()
    loop.turn()
    assert [connection.started for connection in connections[1:]] == [QUANTUM] * (TURN_CREDIT // QUANTUM - 1) + [0]
    loop.turn()
    assert connections[-1].started == QUANTUM


def test_nothing_starts_while_storage_is_behind_and_what_waits_too_long_is_refused() -> None:
    loop, behind, queue = make_queue()
    first, second = Connection(queue, "Acme", TURN_CREDIT + 3), Connection(queue, "Acme", 2)
    first.arrive()
    behind.is_behind = True
    loop.turn()
    loop.turn(MAX_WAIT_S / 2)
    second.arrive()
    loop.turn(MAX_WAIT_S / 2 + 0.01)
    assert (first.started, first.refused, second.refused, queue.waiting) == (TURN_CREDIT, 3, 0, 1)
    behind.is_behind = False
    loop.turn(0.01)
    assert (second.started, queue.waiting) == (2, 0)


def test_what_waited_too_long_is_refused_at_its_turn() -> None:
    loop, _, queue = make_queue()
    one = Connection(queue, "Acme", TURN_CREDIT + 3)
    one.arrive()
    loop.turn(MAX_WAIT_S + 0.01)
    assert one.refused == 3


def test_a_short_line_waits_longer_and_loses_nothing() -> None:
    loop, behind, queue = make_queue()
    flood = [Connection(queue, "Flooder", TURN_CREDIT) for _ in range(5)]
    neighbour = Connection(queue, "Village", 2)
    for connection in (*flood, neighbour):
        connection.arrive()
    behind.is_behind = True
    loop.turn(MAX_WAIT_S + 0.01)
    assert (sum(connection.refused for connection in flood), neighbour.refused) == (4 * TURN_CREDIT, 0)
    loop.turn(0.01)
    assert neighbour.refused == 0  # although its line is the only one now
    for connection in flood:
        connection.posts = TURN_CREDIT
        connection.arrive()
    behind.is_behind = False
    loop.turn(MAX_WAIT_S + 0.01)
    assert (neighbour.started, neighbour.refused) == (2, 0)


def test_even_a_short_line_is_refused_at_last() -> None:
    loop, behind, queue = make_queue()
    flood = [Connection(queue, "Flooder", TURN_CREDIT) for _ in range(5)]
    neighbour = Connection(queue, "Village", 2)
    for connection in (*flood, neighbour):
        connection.arrive()
    behind.is_behind = True
    loop.turn(PATIENT_WAIT_S + 0.01)
    assert neighbour.refused == 2


def test_a_connection_that_has_left_is_skipped() -> None:
    loop, _, queue = make_queue()
    gone, other = Connection(queue, "Acme", TURN_CREDIT + 3), Connection(queue, "Acme", 1)
    gone.arrive()
    other.arrive()
    queue.leave(gone)
    loop.turn()
    assert (gone.started, gone.refused, other.started, queue.waiting) == (TURN_CREDIT, 0, 1, 0)
