"""Runs many generators in parallel: each yields its next entry and time, and all are written in order of time.

A generator yields a ``TimetableStep`` and is sent the number of its entry, from which the numbers of deliveries follow; a
step without an entry only waits. Steps after the end are not written, so deliveries are open at the end, as in real
journals.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from heapq import heappop, heappush
from typing import NamedTuple

from postroad.core.model.journal import Entry, encode
from postroad.ports import NewRecord


class TimetableStep(NamedTuple):
    """An entry to be written at this time, with its body; without an entry, a wait until then."""

    at_us: int
    entry: Entry | None = None
    body: bytes | None = None


Story = Generator[TimetableStep, int, None]


class Timetable:
    def __init__(self) -> None:
        self.seq = 0  # number of the last entry
        self._count = 0  # breaks ties, so that steps at the same time keep their order
        self._due: list[tuple[int, int, TimetableStep, Story]] = []

    def begin(self, story: Story) -> None:
        self._put(next(story, None), story)

    def until(self, at_us: int) -> Iterator[NewRecord]:
        """Yield everything that happens before this time, as journal records."""
        due = self._due
        while due and due[0][0] < at_us:
            _, _, (_, entry, body), story = heappop(due)
            if entry is not None:
                self.seq += 1
                yield NewRecord(encode(entry), body)
            self._go_on(story)

    def _go_on(self, story: Story) -> None:
        try:
            step = story.send(self.seq)
        except StopIteration:
            return
        self._put(step, story)

    def _put(self, step: TimetableStep | None, story: Story) -> None:
        if step is not None:
            self._count += 1
            heappush(self._due, (step.at_us, self._count, step, story))
