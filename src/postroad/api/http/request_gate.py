"""Decides whether the next request of a connection may begin, and records what it waits for.

Rules: polls and acknowledgments wait only for memory, and not for posts. A post waits for memory and for its turn in the
``PostQueue``. On an address that serves both, the body decides, so a small body is awaited before it is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from postroad.api.http.fast_calls import RepeatedHead
from postroad.api.http.front import Front
from postroad.api.http.head import END, HeadMemory, RequestHead, head_end
from postroad.api.http.outbox import Outbox
from postroad.api.http.proxy import ClientOrigin
from postroad.api.http.request import FastReply, FastRequest, FastRoute, IsPost, ProblemBody, is_always_post
from postroad.core.metrics.instruments import Counter
from postroad.core.model.refusals import status_of
from postroad.errors import Refused

BUSY_CODE = "network.busy"
BUSY = "More posts arrive than can be stored; post again after the time in Retry-After"
LEAST_POST_BYTES = 1 << 10  # counted for a shorter post, or one of unknown size
CONTROL_BYTES = 64 << 10  # a longer request is treated as a post, without waiting for its body


class GatedConnection(Protocol):
    """The part of a connection that the gate calls."""

    def resume(self) -> None: ...

    def refuse_posts(self, keep_bytes: int = 0) -> None: ...


class SkippedPosts(NamedTuple):
    """Complete posts in a row that have the same refusal: where they end, their number, and the counters of responses."""

    end: int
    posts: int
    answer: ProblemBody
    statuses: Sequence[Counter] | None


class RequestGate:
    __slots__ = ("_connection", "_front", "_holds_post", "_waiting_bytes", "route", "waits_for_memory",
                 "waits_for_replies", "waits_for_turn", "waits_since_s")  # fmt: skip

    def __init__(self, connection: GatedConnection, front: Front) -> None:
        self._connection = connection
        self._front = front
        self.waits_for_memory = False
        self.waits_for_replies = False  # a complete head waits until earlier responses are sent
        self.waits_for_turn = False  # a post waits in the ``PostQueue``
        self.waits_since_s = 0.0
        self._waiting_bytes = 0  # of the body of the first post that waits
        self.route: FastRoute | None = None  # of the last request that was judged; None while a head arrives
        self._holds_post = False  # that request is a post, as far as is known

    @property
    def is_shut(self) -> bool:
        return self.waits_for_memory or self.waits_for_replies or self.waits_for_turn

    def admits(
        self,
        head: RequestHead,
        route: FastRoute | None,
        body: bytes | None,
        origin: ClientOrigin,
        *,
        owes_replies: bool,
    ) -> bool:
        """Whether the request may begin now; if not, it is tried again later. ``body`` is None until it is complete."""
        self.route, self._holds_post = route, False
        if route is None and owes_replies:
            self.waits_for_replies = True  # an exchange writes to the socket itself, after earlier responses
            return False
        limit = self._front.limits.body_bytes if route is None else route.max_body_bytes
        if head.content_length > limit:
            raise Refused("wire.too-large", f"send at most {limit} bytes here" if limit else "send no body here")
        if route is None or not (head.content_length or head.chunked):
            return True
        if route.is_post is None:
            return self._has_memory_for(head.content_length)
        return self._admits_post(head, route.is_post, body, origin)

    def _admits_post(self, head: RequestHead, is_post: IsPost, body: bytes | None, origin: ClientOrigin) -> bool:
        front, size, self._holds_post = self._front, head.content_length, True
        if front.capacity.may_begin and front.posts.admits(size):
            return True
        if body is None and 0 < size <= CONTROL_BYTES and not head.expects_continue:
            return False  # until the rest has arrived
        if body is not None and not is_post(body):
            self._holds_post = False
            return self._has_memory_for(size)
        if not front.capacity.may_begin:
            return self._wait_for_memory()
        self.waits_for_turn, self._waiting_bytes = True, max(LEAST_POST_BYTES, size)
        front.posts.wait(self, self._organization_of(head, origin))
        return False

    def _organization_of(self, head: RequestHead, origin: ClientOrigin) -> str:
        """Return the line for posts with this head; a proven caller's is remembered with the head."""
        known: str | None = head.memo.get("line")
        if known is None:
            request = FastRequest(head, origin, b"", self._front.loop.time())
            known = self._front.load.organization_of(request)
            if known != origin.peer:
                head.memo["line"] = known
        return known

    def _has_memory_for(self, size: int) -> bool:
        return self._front.capacity.may_go_on(size) or self._wait_for_memory()

    def _wait_for_memory(self) -> bool:
        self.waits_for_memory = True
        self.waits_since_s = self.waits_since_s or self._front.loop.time()
        self._front.capacity.wait(self)
        return False

    def room_is_free(self) -> None:
        """Continue with a body that waited for memory; called by ``Capacity``."""
        self.waits_for_memory = False
        self._front.loop.call_soon(self._connection.resume)

    def serve_waiting(self, most: int) -> None:
        self.waits_for_turn = False
        self._connection.refuse_posts(most * self._waiting_bytes)
        self._connection.resume()

    def refuse_waiting(self) -> None:
        self.waits_for_turn = False
        self._connection.refuse_posts()
        self._connection.resume()

    def count_refusal(self, code: str, reply: FastReply) -> None:
        """Count the refusal of the last request that was judged: its status, and a post that is not read."""
        if self.route is not None:
            reply.statuses = self.route.statuses
            if self._holds_post and code == BUSY_CODE:
                self._front.count_unread_posts(1)

    def leave(self) -> None:
        """Stop waiting, because the connection ends or parses no further input."""
        if self.waits_for_memory:
            self.waits_for_memory = False
            self._front.capacity.forget(self)
        if self.waits_for_turn:
            self.waits_for_turn = False
            self._front.posts.leave(self)

    def refuse_posts(self, pending: bytes, keep_bytes: int, heads: HeadMemory, outbox: Outbox) -> int:
        """Refuse what ``skip_posts`` finds with network.busy; return where the last of these posts ends."""
        runs = tuple(self.skip_posts(pending, keep_bytes, heads))
        for run in runs:
            self._front.count_unread_posts(run.posts)
            outbox.repeat(run.posts, status_of(BUSY_CODE), run.answer, run.statuses)
        return runs[-1].end if runs else 0

    def skip_posts(self, pending: bytes, keep_bytes: int, heads: HeadMemory) -> Iterator[SkippedPosts]:
        """Skip complete posts at the head of the input until at most ``keep_bytes`` are left."""
        found = self._skip_runs(pending, keep_bytes, heads)
        for (answer, statuses), runs in groupby(found, key=lambda run: (run.answer, run.statuses)):
            end = count = 0
            for run in runs:
                end, count = run.end, count + run.posts
            yield SkippedPosts(end, count, answer, statuses)

    def _skip_runs(self, pending: bytes, keep_bytes: int, heads: HeadMemory) -> Iterator[SkippedPosts]:
        """Yield each run of posts with the same head: all but the first of a run cost little more than one comparison."""
        at = 0
        while len(pending) - at > keep_bytes:
            known = self._find_post(pending, at, heads)
            count = 0 if known is None else _count_repeated(pending, at, keep_bytes, known)
            if known is None or not count:
                return
            at += count * known.whole_bytes
            yield SkippedPosts(at, count, self._answer_busy(known.head), known.route.statuses)

    def _answer_busy(self, head: RequestHead) -> ProblemBody:
        """Return the refusal of a post in the format of its request; it is remembered with the head."""
        known: ProblemBody | None = head.memo.get("busy")
        if known is None:
            known = head.memo["busy"] = self._front.problem(status_of(BUSY_CODE), BUSY_CODE, BUSY, head)
        return known

    def _find_post(self, pending: bytes, at: int, heads: HeadMemory) -> RepeatedHead | None:
        """Return the head that begins there; None if it is incomplete, or not that of a post that can be skipped."""
        end = pending.find(END, at)
        if end < 0:
            return None
        raw = pending[at : end + len(END)]
        try:
            head = heads.read(raw) if head_end(raw, self._front.limits) == len(raw) else None
        except Refused:  # it is refused with its own code when it is read in its turn
            return None
        if head is None:
            return None
        route = self._front.route(head.method, head.path)
        if route is None or route.is_post is None or head.chunked or head.expects_continue:
            return None
        if not head.keep_alive or head.version != b"1.1":
            return None
        return RepeatedHead(raw, len(raw) + head.content_length, head, route)


def _count_repeated(pending: bytes, at: int, keep_bytes: int, known: RepeatedHead) -> int:
    """Count the complete posts from ``at`` that begin with the same head and may be refused."""
    raw, whole_bytes, _, route = known
    starts, is_post, count = pending.startswith, route.is_post or is_always_post, 0
    last = len(pending) - max(whole_bytes, keep_bytes + 1)  # where one more post may begin
    while at <= last and starts(raw, at):
        if is_post is not is_always_post and not is_post(pending[at + len(raw) : at + whole_bytes]):
            break
        at += whole_bytes
        count += 1
    return count
