"""The clocks of simulated nodes: one falls behind for some hours at times, so that its entries come late.

An entry is numbered when it is written, and dated by its node. So entries of yesterday can follow the first entries of
today; here this happens around several midnights, to test daily sums.
"""

from __future__ import annotations

from bisect import bisect_right
from random import Random

from postroad.testing.traffic.plan import DAY_US, HOUR_US, TrafficPlan

NODES = 3
BEHIND = 2  # the node with the unreliable clock
EVERY_DAYS = 4


class NodeClocks:
    def __init__(self, plan: TrafficPlan, random: Random) -> None:
        self._begin_us: list[int] = []
        self._spells: list[tuple[int, int]] = []  # end and lag of each spell, in microseconds
        for day in range(1, plan.days, EVERY_DAYS):
            begin_us = plan.start_us + day * DAY_US - random.randrange(1, 3) * HOUR_US
            end_us = begin_us + random.randrange(4, 9) * HOUR_US
            self._begin_us.append(begin_us)
            self._spells.append((end_us, random.randrange(20, 150) * 60_000_000))

    def stamp(self, node: int, at_us: int) -> int:
        """Return what the node's clock shows at this time."""
        if node != BEHIND:
            return at_us
        place = bisect_right(self._begin_us, at_us) - 1
        if place < 0:
            return at_us
        end_us, lag_us = self._spells[place]
        return at_us - lag_us if at_us < end_us else at_us
