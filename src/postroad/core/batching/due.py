"""When an open batch goes, and what it waits for until then.

Kept rule: every criterion of a policy can be read at any time, so nobody has to guess why a batch has not gone; and a time comes
from the batch and its policy alone, never from when somebody looked.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from postroad.core.batching.cron import next_time, read_cron
from postroad.core.batching.deciding import timer_us
from postroad.core.batching.moves import closed, suspended
from postroad.core.codecs.lexical import write_time
from postroad.core.delivery.windows import next_closing
from postroad.core.model.batch import Batch, BatchState, Criterion
from postroad.core.model.batch_policy import Controlled, Empty, Policy, Port, Unfinished

SECOND_US = 1_000_000


class Due(NamedTuple):
    """When a batch goes, by which criterion, and how far that is."""

    when_us: int | None  # None: not by itself
    why: str
    criterion: Criterion | None = None  # None: the batch is past that
    share: float = 0.0  # of what is wanted, where messages decide

    @property
    def told(self) -> str:
        """The answer to "why has it not gone?"."""
        return self.why if self.when_us is None else f"it goes at {write_time(self.when_us)}: {self.why}"


def due(policy: Policy, port: Port, batch: Batch) -> Due:
    """The criterion that is nearest: the earliest time, or where no time is set, the one of which most is fulfilled."""
    if batch.state is not BatchState.OPEN:
        return _past(batch)
    nearest = _nearest(policy, port, batch)
    return nearest._replace(why=f"{nearest.why}; then it waits, because it is held back") if batch.held else nearest


def readings(policy: Policy, port: Port, batch: Batch) -> tuple[Due, ...]:
    """What every criterion says of an open batch."""
    if batch.controlled:
        return (_unfinished(policy.controlled or Controlled(), batch),)
    timed = (*_by_time(policy, batch), *_by_calendar(policy, port, batch))
    return (*_by_messages(policy, batch), *timed, *_by_plug_in(port, batch))


def share_at(reading: Due, batch: Batch, now_us: int) -> float:
    """How much of a criterion is fulfilled, from 0 to 1; of a time, how much of the way there has passed."""
    if reading.when_us is None or reading.criterion in (Criterion.COUNT, Criterion.BYTES):
        return min(1.0, reading.share)
    begin_us = batch.latest_at_us if reading.criterion is Criterion.IDLE else batch.opened_at_us
    return min(1.0, max(0.0, (now_us - begin_us) / max(1, reading.when_us - begin_us)))


def elapsed(policy: Policy, port: Port, batch: Batch, now_us: int) -> Batch:
    """The batch, closed as of the time at which it was due if that has come; for a batch, time never runs back."""
    if batch.state is not BatchState.OPEN:
        return batch
    nearest = _nearest_time(policy, port, batch)
    if nearest is None or nearest.when_us is None or nearest.criterion is None:
        return batch
    if nearest.when_us > max(now_us, batch.changed_at_us):
        return batch
    if nearest.criterion is Criterion.UNFINISHED:
        return unfinished(policy, batch, nearest.why, nearest.when_us)
    return closed(batch, nearest.criterion, nearest.why, nearest.when_us)


def is_full(policy: Policy, batch: Batch) -> bool:
    """Whether its members alone close it."""
    return 0 < policy.count <= batch.count or 0 < policy.bytes <= batch.bytes


def unfinished(policy: Policy, batch: Batch, why: str, at_us: int) -> Batch:
    """What becomes of a batch that its application did not end."""
    controlled = policy.controlled or Controlled()
    if controlled.unfinished is Unfinished.SEND:
        return closed(batch, Criterion.UNFINISHED, why, at_us)
    return suspended(batch, why, at_us, Criterion.UNFINISHED)


def next_empty(policy: Policy, port: Port, after_us: int) -> Due | None:
    """The next scheduled time after a moment, at which an empty batch goes if none is open; None: it never does."""
    if policy.empty is not Empty.SEND:
        return None
    times = _calendar(policy.cron, policy.before_close_s, port, after_us)
    return min(times, key=_when, default=None)


def _nearest(policy: Policy, port: Port, batch: Batch) -> Due:
    found = readings(policy, port, batch)
    timed = [reading for reading in found if reading.when_us is not None]
    return min(timed, key=_when) if timed else max(found, key=_share, default=_NOTHING_ENDS_IT)


def _nearest_time(policy: Policy, port: Port, batch: Batch) -> Due | None:
    """The earliest time that is set, as ``_nearest`` has it; asked with every message, so nothing is written for people."""
    if batch.controlled or is_full(policy, batch):
        return _nearest(policy, port, batch)
    timed = [*_by_time(policy, batch), *_by_calendar(policy, port, batch)]
    timed += [one for one in _by_plug_in(port, batch) if one.when_us is not None]
    return min(timed, key=_when, default=None)


def _by_messages(policy: Policy, batch: Batch) -> list[Due]:
    found = []
    if policy.count:
        found.append(_filled(Criterion.COUNT, batch.count, policy.count, "messages", batch))
    if policy.bytes:
        found.append(_filled(Criterion.BYTES, batch.bytes, policy.bytes, "bytes", batch))
    if policy.last is not None:
        found.append(Due(None, "a message of which its condition holds", Criterion.CONDITION))
    return found


def _filled(criterion: Criterion, there: int, wanted: int, unit: str, batch: Batch) -> Due:
    when_us = batch.changed_at_us if there >= wanted else None
    return Due(when_us, f"{there} of {wanted} {unit}", criterion, there / wanted)


def _by_time(policy: Policy, batch: Batch) -> list[Due]:
    found = []
    if policy.age_s:
        at_us = batch.opened_at_us + policy.age_s * SECOND_US
        found.append(Due(at_us, f"{policy.age_s} s after its first message", Criterion.AGE))
    if policy.idle_s:
        at_us = batch.latest_at_us + policy.idle_s * SECOND_US
        found.append(Due(at_us, f"{policy.idle_s} s after its latest message", Criterion.IDLE))
    return found


def _by_plug_in(port: Port, batch: Batch) -> list[Due]:
    if port.batcher is None:
        return []
    name = port.batcher.name
    if port.batcher.plug_in is None:
        return [Due(None, f"the batcher plug-in {name} is not installed", Criterion.PLUG_IN)]
    return [Due(timer_us(port, batch), f"the batcher plug-in {name} decides", Criterion.PLUG_IN)]


def _by_calendar(policy: Policy, port: Port, batch: Batch) -> tuple[Due, ...]:
    if not policy.cron and policy.before_close_s is None:
        return ()
    return _calendar(policy.cron, policy.before_close_s, port, batch.opened_at_us)


@lru_cache(maxsize=4_096)  # asked for with every message of a batch
def _calendar(crons: tuple[str, ...], before_close_s: int | None, port: Port, after_us: int) -> tuple[Due, ...]:
    """The scheduled times that come first after a moment: one for each schedule, and one for the window."""
    found = [
        Due(next_time(read_cron(text), port.time_zone, after_us), f"the schedule {text}", Criterion.SCHEDULE)
        for text in crons
    ]
    if before_close_s is not None:
        closes_us = next_closing(port.windows, port.time_zone, after_us + before_close_s * SECOND_US)
        if closes_us is not None:
            why = f"{before_close_s} s before the delivery window closes"
            found.append(Due(closes_us - before_close_s * SECOND_US, why, Criterion.WINDOW))
    return tuple(found)


def _unfinished(controlled: Controlled, batch: Batch) -> Due:
    at_us = batch.opened_at_us + controlled.unfinished_after_s * SECOND_US
    why = f"{controlled.unfinished_after_s} s after its first message, unless one with {controlled.end_property} comes"
    return Due(at_us, why, Criterion.UNFINISHED)


def _past(batch: Batch) -> Due:
    if batch.state is BatchState.CLOSED and batch.held:
        return Due(None, "it is complete and held back; let it go", Criterion.HOLD)
    if batch.state is BatchState.SUSPENDED:
        return Due(None, f"it is suspended: {batch.why}; resume or drop it")
    return Due(None, f"it is {batch.state.value}")


def _when(reading: Due) -> int:
    return reading.when_us or 0


def _share(reading: Due) -> float:
    return reading.share


_NOTHING_ENDS_IT = Due(None, "its policy has no criterion any more; release it, or give the policy one")
