"""Arrivals in the order in which they came, folded into batches: the same functions as in a batcher, one message after the other.

Kept rules: one key is gone through after the other, so only one batch is open at a time, and its members come one behind the
other. What no message and no time closes stays open, unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import groupby
from typing import Any, NamedTuple

from postroad.core.batching import Arrival, arrive, elapsed
from postroad.core.batching.moves import released
from postroad.core.model import ids
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.batch_policy import Policy, Port

FOR_EVER_US = 1 << 62


class Come(NamedTuple):
    """A message that came, and what is to be remembered of it."""

    arrival: Arrival
    at_us: int
    row: Any


class Joined(NamedTuple):
    """A message is in a batch, which may not be closed yet."""

    batch: str
    come: Come


class Finished(NamedTuple):
    """A batch gets no more members; all that joined since the one before are in it."""

    batch: Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Folding:
    """The rules by which is folded, and how far time goes on after the last message."""

    policy: Policy
    port: Port
    until_us: int = FOR_EVER_US
    release: bool = False  # what is still open then is closed

    def batches(self, coming: Iterable[Come]) -> Iterator[Joined | Finished]:
        """What becomes of messages that come in the order of their keys, and for each key in the order of time."""
        for key, of_key in groupby(coming, key=lambda one: one.arrival.key):
            yield from self._of_key(key, of_key)

    def _of_key(self, key: tuple[str, ...], coming: Iterable[Come]) -> Iterator[Joined | Finished]:
        current: Batch | None = None
        for place, one in enumerate(coming):
            batch, before = arrive(self.policy, self.port, one.arrival, current, _id(key, place, one.at_us), one.at_us)
            if before is not None:
                yield Finished(before)
            if batch is None:
                raise ValueError("what goes by itself does not come to a batch")
            yield Joined(batch.id, one)
            current = batch if batch.state is BatchState.OPEN else None
            if current is None:
                yield Finished(batch)
        if current is not None:
            yield Finished(self._at_the_end(current))

    def _at_the_end(self, batch: Batch) -> Batch:
        batch = elapsed(self.policy, self.port, batch, self.until_us)
        is_asked_for = self.release and batch.state is BatchState.OPEN
        return released(batch, batch.changed_at_us, "whoever runs this") if is_asked_for else batch


def _id(key: tuple[str, ...], place: int, at_us: int) -> str:
    """An id that is the same whenever the same messages come."""
    return ids.short(at_us, blake2b(repr((key, place)).encode(), digest_size=4).digest())
