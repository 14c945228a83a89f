"""Group commit without timers: steps that arrive while a group is being synced form the next group.

Rules: ``done`` is called exactly once for every step, and never before the commit that makes its outcome true. A busy
network forms large groups by itself; an idle one commits a single step at once. Steps of receivers without keys
are first: they cost almost nothing, and a receiver that waited behind every bulk would fall behind
the senders. All other steps keep their order of arrival. When more than half of the limit waits, the posts of the
organization that has the most waiting bytes are refused, so one organization alone cannot fill the backlog.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from postroad.core.metrics.registry import Metrics
from postroad.core.model.journal import DeliveriesAcknowledged, DeliveriesLeased
from postroad.errors import Unavailable
from postroad.flow.concurrency.commit import future_of
from postroad.flow.entry_counts import EntryCounts
from postroad.ports import JournalStep, StepOutcome

log = logging.getLogger(__name__)

GROUP_BYTES = 256 << 10  # larger groups cost more per record and delay every step
WAITING_BYTES = 64 << 20
OVERHEAD_BYTES = 512  # estimated bytes of a step without its body
RECEIVERS_DO = frozenset((DeliveriesAcknowledged, DeliveriesLeased))

UNCERTAIN = "It is unknown whether this was stored; try again, using the same handle or Idempotency-Key for a post"

Done = Callable[[StepOutcome], None]
DoneAll = Callable[[list[StepOutcome]], None]
Submitted = tuple[
    Sequence[JournalStep], int, Done | None, DoneAll | None
]  # steps, their bytes, and the callbacks: for one outcome, for all outcomes


class WaitingShares:
    """How many waiting bytes each organization has in the backlog of the group commit, and which organization has the most.

    Rule: exact at every moment. Adding and removing take constant time; the largest share is searched for only when it is asked
    for after its organization's bytes have decreased, so at most once for each group.
    """

    __slots__ = ("_bytes", "_largest")

    def __init__(self) -> None:
        self._bytes: dict[str, int] = {}
        self._largest = ""  # empty: unknown

    def add(self, organization: str, size: int) -> None:
        held = self._bytes[organization] = self._bytes.get(organization, 0) + size
        if self._largest and held > self._bytes[self._largest]:
            self._largest = organization

    def remove(self, organization: str, size: int) -> None:
        left = self._bytes[organization] - size
        if left:
            self._bytes[organization] = left
        else:
            del self._bytes[organization]
        if organization == self._largest:
            self._largest = ""

    def would_be_largest(self, organization: str, size: int) -> bool:
        """Whether no other organization would have more waiting bytes, if these were added."""
        if not self._largest and self._bytes:
            self._largest = max(self._bytes, key=self._bytes.__getitem__)
        return self._bytes.get(organization, 0) + size >= self._bytes.get(self._largest, 0)

    def of(self, organization: str) -> int:
        return self._bytes.get(organization, 0)


class GroupCommit:
    """Collects steps and commits them in groups, one group at a time."""

    def __init__(
        self,
        commit: Callable[[Sequence[JournalStep]], Awaitable[list[StepOutcome]]],
        *,
        group_bytes: int = GROUP_BYTES,
        waiting_bytes: int = WAITING_BYTES,
        metrics: Metrics | None = None,
    ) -> None:
        self._commit = commit
        self._group_bytes = group_bytes
        self._waiting_bytes_most = waiting_bytes
        self._waiting: deque[Submitted] = deque()
        self._first: deque[Submitted] = deque()
        self._waiting_bytes = 0
        self._shares = WaitingShares()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None
        metrics = metrics if metrics is not None else Metrics()
        self._counts = EntryCounts(metrics)
        self._groups = metrics.counter("journal_groups_total")
        metrics.gauge("journal_waiting_limit_bytes").set(waiting_bytes)
        metrics.on_read(lambda: metrics.gauge("journal_waiting_bytes").set(self._waiting_bytes))

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run(), name="group-commit")

    def submit(self, step: JournalStep, done: Done) -> None:
        """Add a step to the next group; raises Unavailable when the backlog is full (acknowledgments still pass)."""
        body = step.body
        self._add((step,), OVERHEAD_BYTES + (len(body) if body else 0), done, None)

    def submit_many(self, steps: Sequence[JournalStep], done: DoneAll) -> None:
        """Add steps whose outcomes are reported together; they are committed in one group."""
        size = len(steps) * OVERHEAD_BYTES + sum([len(step.body) for step in steps if step.body])
        self._add(steps, size, None, done)

    def _add(self, steps: Sequence[JournalStep], size: int, done: Done | None, done_all: DoneAll | None) -> None:
        organization = steps[0].organization
        if 2 * self._waiting_bytes > self._waiting_bytes_most and not steps[0].reserve:
            self._require_room(steps, organization, size)
        if not self._count():
            self._wake.set()
            self._idle.clear()
        goes_first = type(steps[0].entry) in RECEIVERS_DO and not steps[0].keys
        line = self._first if goes_first else self._waiting
        line.append((steps, size, done, done_all))
        self._waiting_bytes += size
        if organization:
            self._shares.add(organization, size)

    @property
    def waiting_bytes(self) -> int:
        """Return the bytes of the submitted steps that are in no group yet."""
        return self._waiting_bytes

    @property
    def waiting_bytes_most(self) -> int:
        return self._waiting_bytes_most

    def _require_room(self, steps: Sequence[JournalStep], organization: str, size: int) -> None:
        """Raise Unavailable if the backlog is full, or half full and mostly this organization's."""
        if self._waiting_bytes > self._waiting_bytes_most:
            self._counts.count_unavailable(steps)
            raise Unavailable(
                "network.busy", "Messages are arriving faster than they can be stored; try again in a moment"
            )
        if organization and self._shares.would_be_largest(organization, size):
            self._counts.count_unavailable(steps)
            raise Unavailable(
                "network.busy",
                f"Messages are arriving faster than they can be stored, and most of those that wait are {organization}'s; "
                "post more slowly, or try again in a moment",
            )

    def _count(self) -> int:
        return len(self._first) + len(self._waiting)

    async def commit(self, step: JournalStep) -> StepOutcome:
        """Submit a step and wait for its outcome."""
        return await future_of(partial(self.submit, step))

    async def close(self) -> None:
        """Commit the submitted steps, then stop."""
        if self._task is None:
            return
        await self._idle.wait()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._task = None

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._count():
                await self._gather()
                await self._commit_group(self._next_group())
            self._idle.set()

    async def _gather(self) -> None:
        """Let the event loop read arrived requests while each round adds steps and the group is not full.

        A sync costs as much as several messages, so steps that have already arrived join the group; the group waits
        for no others.
        """
        gathered = 0
        while (count := self._count()) > gathered and self._waiting_bytes < self._group_bytes:
            gathered = count
            await asyncio.sleep(0)

    def _next_group(self) -> list[Submitted]:
        group = []
        size = 0
        while (line := self._first or self._waiting) and size < self._group_bytes:
            submitted = line.popleft()
            size += submitted[1]
            group.append(submitted)
            if organization := submitted[0][0].organization:
                self._shares.remove(organization, submitted[1])
        self._waiting_bytes -= size
        return group

    async def _commit_group(self, group: list[Submitted]) -> None:
        steps = [step for submitted in group for step in submitted[0]]
        try:
            outcomes = await self._commit(steps)
        except Unavailable as error:
            outcomes = [error] * len(steps)
        except Exception:
            log.exception("journal.group_failed: a group of %d steps could not be committed", len(steps))
            outcomes = [Unavailable("internal", UNCERTAIN)] * len(steps)
        self._groups.value += 1
        try:
            self._counts.count(steps, outcomes)
        except Exception:
            log.exception("journal.not_counted: a group of %d steps is missing from the metrics", len(steps))
        start = 0
        for submitted, _, done, done_all in group:
            end = start + len(submitted)
            try:
                if done is not None:
                    done(outcomes[start])
                elif done_all is not None:
                    done_all(outcomes[start:end])
            except Exception:
                log.exception("journal.answer_failed: answering a committed step failed")
            start = end
