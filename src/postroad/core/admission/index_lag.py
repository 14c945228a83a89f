"""How far the index is behind the journal in time, and by how much posts are delayed for it.

Rule: pure; times are arguments. Posts are not delayed for the index's usual lag. The parts of long queues that are only in the
index are handed out late when it is behind, so posting slows down until it catches up.
"""

from __future__ import annotations

from collections import deque

TOLERATED_S = 60.0
LONGEST_DELAY_S = 0.1  # of a single post, when the index is twice as late as tolerated
SHARE_IN_BULK = 0.1  # a message in a call with many is delayed by this share of a single post's delay


class IndexLag:
    __slots__ = ("_marks",)

    def __init__(self) -> None:
        self._marks: deque[tuple[int, float]] = deque()  # entries that were not indexed when they were noted

    def note(self, head: int, indexed: int, now: float) -> float:
        """Record the last entry of the journal and of the index; returns by how many seconds the index is behind."""
        if head > indexed and (not self._marks or head > self._marks[-1][0]):
            self._marks.append((head, now))
        while self._marks and self._marks[0][0] <= indexed:
            self._marks.popleft()
        return now - self._marks[0][1] if self._marks else 0.0


def compute_post_delay_s(behind_s: float) -> float:
    """Return by how many seconds a post is delayed."""
    return LONGEST_DELAY_S * min(1.0, max(0.0, behind_s - TOLERATED_S) / TOLERATED_S)
