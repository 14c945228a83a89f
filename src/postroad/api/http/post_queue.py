"""Posts that cannot be started now wait here, so that they delay neither polls nor acknowledgments.

One turn of the event loop starts posts worth ``TURN_CREDIT``. Further posts wait with their connections, unparsed, in one
line for each organization, and the lines take turns:

    arrived ─credit left→ served                                  (the usual case: one comparison)
       └─ no credit, or storage is behind → waiting ─its turn→ served
                                               └─ late, or too many posts behind it → refused with ``network.busy``

A post is late after ``MAX_WAIT_S`` if its organization has many connections that wait, compared with the others, and else only
after ``PATIENT_WAIT_S``: when the server stands still for a moment, those that caused no overload lose nothing.

Rules: a poll or an acknowledgment never waits here. A post is refused before it is parsed, so a refusal costs a small
part of what accepting costs. An organization that posts too much delays only its own posts.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

TURN_CREDIT = 128  # posts of up to 4 KiB that one turn starts: about 8 ms; with 64, 256 busy clients cost 7 % more
RENEW_AT = 96  # below this, credit is renewed in the next turn; a server with little to do never renews it
CREDIT_BYTES_LOG2 = 12  # each further 4 KiB of a post cost as much credit as one post
QUANTUM = 8  # posts that one connection starts before the next line has its turn; with 4, each connection is read twice as often
MAX_WAIT_S = 0.3
PATIENT_WAIT_S = 2.0  # in a line that is at most half as long as the longest
ALL = 1 << 30  # more posts than can wait on one connection
BACKLOG_S = 0.1  # of posts that one connection may have waiting behind its first one
LOOK_AGAIN_S = 0.002  # while storage is behind


class WaitingPoster(Protocol):
    def serve_waiting(self, most: int) -> None:
        """Refuse the oldest posts if more than ``most`` wait; start the others, while ``PostQueue.admits`` allows it."""
        ...

    def refuse_waiting(self) -> None:
        """Refuse all complete posts that wait."""
        ...


class PostQueue:
    __slots__ = ("_credit", "_in_turn", "_is_behind", "_is_renewing", "_lines", "_longest", "_longest_until_s", "_loop",
                 "_since_s", "refused")  # fmt: skip

    def __init__(self, loop: asyncio.AbstractEventLoop, is_behind: Callable[[], bool] = lambda: False) -> None:
        self._loop = loop
        self._is_behind = is_behind  # whether storage has enough to do without further posts
        self._credit = TURN_CREDIT
        self._in_turn = 0  # posts that the connection whose turn it is may still start
        self._is_renewing = False
        self._lines: dict[str, deque[tuple[WaitingPoster, float]]] = {}
        self._longest = 0  # connections in the longest line, of the last seconds
        self._longest_until_s = 0.0
        self._since_s: dict[WaitingPoster, float] = {}  # of connections that wait; the lines may also have others
        self.refused = 0  # posts, since the start

    @property
    def waiting(self) -> int:
        """Return the number of connections that wait."""
        return len(self._since_s)

    def admits(self, size: int) -> bool:
        """Whether a post of this size may be started now; takes the credit for it."""
        if self._in_turn:
            self._in_turn -= 1
        elif self._lines:
            return False
        if self._credit <= 0:
            self._renew_soon()
            return False
        self._credit -= 1 + (size >> CREDIT_BYTES_LOG2)
        if self._credit < RENEW_AT and not self._is_renewing:
            self._renew_soon()
        return True

    def wait(self, connection: WaitingPoster, organization: str) -> None:
        """Add a connection whose next request is a post to the line of its organization."""
        since_s = self._since_s[connection] = self._loop.time()
        self._lines.setdefault(organization, deque()).append((connection, since_s))
        self._renew_soon()

    def leave(self, connection: WaitingPoster) -> None:
        """Forget a connection that has ended; its place in the line is skipped."""
        self._since_s.pop(connection, None)

    def _renew_soon(self) -> None:
        if not self._is_renewing:
            self._is_renewing = True
            self._loop.call_soon(self._renew)

    def _renew(self) -> None:
        """Begin the next turn: give waiting posts their turn, and leave the rest of the credit to those that arrive."""
        self._is_renewing = False
        now = self._loop.time()
        self._note_longest(now)
        if self._is_behind():
            self._credit = 0
            self._refuse_late(now)
            self._is_renewing = True
            self._loop.call_later(LOOK_AGAIN_S, self._renew)
            return
        self._credit = TURN_CREDIT
        while self._lines and self._credit > 0:
            self._take_turn(now)
        if self._lines or self._credit < RENEW_AT:
            self._renew_soon()

    def _take_turn(self, now: float) -> None:
        """Let the first connection of the first line start a few posts, and move the line behind the others."""
        organization = next(iter(self._lines))
        line = self._lines.pop(organization)
        is_patient = self._is_patient(line)
        connection, since_s = line.popleft()
        if line:
            self._lines[organization] = line
        if self._since_s.get(connection) != since_s:  # it has left
            return
        del self._since_s[connection]
        waited_s = now - since_s
        if waited_s > (PATIENT_WAIT_S if is_patient else MAX_WAIT_S):
            self._credit -= 1
            connection.refuse_waiting()
        else:
            self._in_turn = QUANTUM
            connection.serve_waiting(
                ALL if is_patient else QUANTUM * max(1, int(BACKLOG_S / (waited_s + LOOK_AGAIN_S)))
            )
            self._in_turn = 0

    def _note_longest(self, now: float) -> None:
        longest = max(map(len, self._lines.values()), default=0)
        if longest >= self._longest or now > self._longest_until_s:
            self._longest, self._longest_until_s = longest, now + PATIENT_WAIT_S

    def _is_patient(self, line: deque[tuple[WaitingPoster, float]]) -> bool:
        """Whether the posts in this line wait because of others."""
        return 2 * len(line) <= self._longest

    def _refuse_late(self, now: float) -> None:
        """Refuse what has waited too long, since no line has its turn while storage is behind."""
        for organization, line in tuple(self._lines.items()):
            most_s = PATIENT_WAIT_S if self._is_patient(line) else MAX_WAIT_S
            while line and (now - line[0][1] > most_s or self._since_s.get(line[0][0]) != line[0][1]):
                connection, since_s = line.popleft()
                if self._since_s.get(connection) == since_s:
                    del self._since_s[connection]
                    connection.refuse_waiting()
            if not line and self._lines.get(organization) is line:
                del self._lines[organization]
