"""Calculates when an open batch closes, and which criterion it waits for.

Rule: every criterion of a policy can be read at any time, so that the owner can always see why a batch has not been
sent. Times depend only on the batch and its policy, never on when they are checked.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from postroad.core.batching.cron import next_time, read_cron
from postroad.core.batching.moves import close_batch, suspend_batch
from postroad.core.batching.plug_in import timer_us
from postroad.core.codecs.lexical import write_time
from postroad.core.delivery.windows import next_closing
from postroad.core.model.batch import Batch, BatchState, Criterion
from postroad.core.model.batch_policy import BatchPolicy, Controlled, Empty, Port, Unfinished

SECOND_US = 1_000_000


class BatchDue(NamedTuple):
    """When a batch closes, by which criterion, and the fulfilled share of that criterion."""

    when_us: int | None  # None: not by itself
    why: str
    criterion: Criterion | None = None  # None: the batch is no longer open
    share: float = 0.0  # fulfilled share, if messages decide

    @property
    def told(self) -> str:
        """Return in words why the batch has not closed yet."""
        return self.why if self.when_us is None else f"it closes at {write_time(self.when_us)}: {self.why}"


def find_due(policy: BatchPolicy, port: Port, batch: Batch) -> BatchDue:
    """Return the nearest criterion: the earliest time, or without a time the most fulfilled one."""
    if batch.state is not BatchState.OPEN:
        return _past(batch)
    nearest = _nearest(policy, port, batch)
    return nearest._replace(why=f"{nearest.why}; then it waits, because it is paused") if batch.held else nearest


def list_criteria(policy: BatchPolicy, port: Port, batch: Batch) -> tuple[BatchDue, ...]:
    """Return the state of every criterion of an open batch."""
    if batch.controlled:
        return (_unfinished(policy.controlled or Controlled(), batch),)
    timed = (*_by_time(policy, batch), *_by_calendar(policy, port, batch))
    return (*_by_messages(policy, batch), *timed, *_by_plug_in(port, batch))


def share_at(reading: BatchDue, batch: Batch, now_us: int) -> float:
    """Return the fulfilled share of a criterion from 0 to 1; for a time, the elapsed share."""
    if reading.when_us is None or reading.criterion in (Criterion.COUNT, Criterion.BYTES):
        return min(1.0, reading.share)
    begin_us = batch.latest_at_us if reading.criterion is Criterion.IDLE else batch.opened_at_us
    return min(1.0, max(0.0, (now_us - begin_us) / max(1, reading.when_us - begin_us)))


def close_if_due(policy: BatchPolicy, port: Port, batch: Batch, now_us: int) -> Batch:
    """Return the batch; if it is overdue, closed as of its due time."""
    if batch.state is not BatchState.OPEN:
        return batch
    nearest = _nearest_time(policy, port, batch)
    if nearest is None or nearest.when_us is None or nearest.criterion is None:
        return batch
    if nearest.when_us > max(now_us, batch.changed_at_us):
        return batch
    if nearest.criterion is Criterion.UNFINISHED:
        return end_unfinished(policy, batch, nearest.why, nearest.when_us)
    return close_batch(batch, nearest.criterion, nearest.why, nearest.when_us)


def is_full(policy: BatchPolicy, batch: Batch) -> bool:
    """True if the members alone close the batch."""
    return 0 < policy.count <= batch.count or 0 < policy.bytes <= batch.bytes


def end_unfinished(policy: BatchPolicy, batch: Batch, why: str, at_us: int) -> Batch:
    """Close or suspend a batch that its application did not end in time."""
    controlled = policy.controlled or Controlled()
    if controlled.unfinished is Unfinished.SEND:
        return close_batch(batch, Criterion.UNFINISHED, why, at_us)
    return suspend_batch(batch, why, at_us, Criterion.UNFINISHED)


def next_empty_batch(policy: BatchPolicy, port: Port, after_us: int) -> BatchDue | None:
    """Return the next scheduled time at which an empty batch is sent; None if never."""
    if policy.empty is not Empty.SEND:
        return None
    times = _calendar(policy.cron, policy.before_close_s, port, after_us)
    return min(times, key=_when, default=None)


def _nearest(policy: BatchPolicy, port: Port, batch: Batch) -> BatchDue:
    found = list_criteria(policy, port, batch)
    timed = [reading for reading in found if reading.when_us is not None]
    return min(timed, key=_when) if timed else max(found, key=_share, default=_NOTHING_ENDS_IT)


def _nearest_time(policy: BatchPolicy, port: Port, batch: Batch) -> BatchDue | None:
    """Return the earliest due time, like ``_nearest``, but without texts, because it is needed for every message."""
    if batch.controlled or is_full(policy, batch):
        return _nearest(policy, port, batch)
    timed = [*_by_time(policy, batch), *_by_calendar(policy, port, batch)]
    timed += [one for one in _by_plug_in(port, batch) if one.when_us is not None]
    return min(timed, key=_when, default=None)


def _by_messages(policy: BatchPolicy, batch: Batch) -> list[BatchDue]:
    found = []
    if policy.count:
        found.append(_filled(Criterion.COUNT, batch.count, policy.count, "messages", batch))
    if policy.bytes:
        found.append(_filled(Criterion.BYTES, batch.bytes, policy.bytes, "bytes", batch))
    if policy.last is not None:
        found.append(BatchDue(None, "a message that meets its condition", Criterion.CONDITION))
    return found


def _filled(criterion: Criterion, there: int, wanted: int, unit: str, batch: Batch) -> BatchDue:
    when_us = batch.changed_at_us if there >= wanted else None
    return BatchDue(when_us, f"{there} of {wanted} {unit}", criterion, there / wanted)


def _by_time(policy: BatchPolicy, batch: Batch) -> list[BatchDue]:
    found = []
    if policy.age_s:
        at_us = batch.opened_at_us + policy.age_s * SECOND_US
        found.append(BatchDue(at_us, f"{policy.age_s} s after its first message", Criterion.AGE))
    if policy.idle_s:
        at_us = batch.latest_at_us + policy.idle_s * SECOND_US
        found.append(BatchDue(at_us, f"{policy.idle_s} s after its latest message", Criterion.IDLE))
    return found


def _by_plug_in(port: Port, batch: Batch) -> list[BatchDue]:
    if port.batcher is None:
        return []
    name = port.batcher.name
    if port.batcher.plug_in is None:
        return [BatchDue(None, f"the batcher plug-in {name} is not installed", Criterion.PLUG_IN)]
    return [BatchDue(timer_us(port, batch), f"the decision of batcher plug-in {name}", Criterion.PLUG_IN)]


def _by_calendar(policy: BatchPolicy, port: Port, batch: Batch) -> tuple[BatchDue, ...]:
    if not policy.cron and policy.before_close_s is None:
        return ()
    return _calendar(policy.cron, policy.before_close_s, port, batch.opened_at_us)


@lru_cache(maxsize=4_096)  # needed for every message of a batch
def _calendar(crons: tuple[str, ...], before_close_s: int | None, port: Port, after_us: int) -> tuple[BatchDue, ...]:
    """Return the next scheduled times after a moment: one for each schedule, and one for the window."""
    found = [
        BatchDue(next_time(read_cron(text), port.time_zone, after_us), f"the schedule {text}", Criterion.SCHEDULE)
        for text in crons
    ]
    if before_close_s is not None:
        closes_us = next_closing(port.windows, port.time_zone, after_us + before_close_s * SECOND_US)
        if closes_us is not None:
            why = f"{before_close_s} s before the delivery window closes"
            found.append(BatchDue(closes_us - before_close_s * SECOND_US, why, Criterion.WINDOW))
    return tuple(found)


def _unfinished(controlled: Controlled, batch: Batch) -> BatchDue:
    at_us = batch.opened_at_us + controlled.unfinished_after_s * SECOND_US
    why = f"{controlled.unfinished_after_s} s after its first message, unless one with {controlled.end_property} comes"
    return BatchDue(at_us, why, Criterion.UNFINISHED)


def _past(batch: Batch) -> BatchDue:
    if batch.state is BatchState.CLOSED and batch.held:
        return BatchDue(None, "it is complete and paused; resume it", Criterion.HOLD)
    if batch.state is BatchState.SUSPENDED:
        return BatchDue(None, f"it is suspended: {batch.why}; resume or drop it")
    return BatchDue(None, f"it is {batch.state.value}")


def _when(reading: BatchDue) -> int:
    return reading.when_us or 0


def _share(reading: BatchDue) -> float:
    return reading.share


_NOTHING_ENDS_IT = BatchDue(None, "its policy no longer has a criterion; release it, or add a criterion")
