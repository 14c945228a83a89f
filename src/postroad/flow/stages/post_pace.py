"""Delays posts while the index is far behind the journal; measures that once a second.

Rule: only posts are delayed, and none by more than ``LONGEST_DELAY_S``, or a tenth of it for each message of a call with many.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

from postroad.core.admission.index_lag import SHARE_IN_BULK, IndexLag, compute_post_delay_s
from postroad.errors import Unavailable
from postroad.flow.plumbing import Plumbing

log = logging.getLogger(__name__)

MEASURE_EVERY_S = 1.0


class PostPace:
    def __init__(self, plumbing: Plumbing) -> None:
        self._journal, self._index, self._clock = plumbing.journal, plumbing.index, plumbing.clock
        self._lag = IndexLag()
        self._indexed = 0
        self.behind_s = 0.0  # how far the index is behind
        self.delay_s = 0.0  # of a single post

    def delay_of(self, posts: int) -> float:
        """Return the seconds by which a call with this many posts is delayed."""
        return self.delay_s * max(1.0, posts * SHARE_IN_BULK)

    async def measure(self) -> None:
        """Measure how far the index is behind now."""
        head = (await self._journal.head()).seq
        with suppress(Unavailable):  # while it is rebuilt, it stays where it was
            self._indexed = (await self._index.position()).seq
        self.behind_s = self._lag.note(head, self._indexed, self._clock.monotonic())
        was_delayed, self.delay_s = bool(self.delay_s), compute_post_delay_s(self.behind_s)
        if was_delayed != bool(self.delay_s):
            log.warning(
                "index.behind: the index is %.0f s behind the journal: posts are %s",
                self.behind_s,
                _words(delayed=not was_delayed),
            )

    async def run(self) -> None:
        """Measure until cancelled."""
        while True:
            try:
                with suppress(Unavailable):
                    await self.measure()
            except Exception:
                self.delay_s = 0.0  # not known; posts are not delayed for an error
                log.exception("index.lag_unknown: how far the index is behind could not be measured; trying again")
            await asyncio.sleep(MEASURE_EVERY_S)


def _words(*, delayed: bool) -> str:
    return "delayed" if delayed else "no longer delayed"
