"""What a number of units costs, by tiers over a period.

Kept rule: the cost of the next units is what all cost together less what those before cost, so that whatever way a period is cut
into messages, the whole costs the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from postroad.core.model.billing import Rate, Tier, micros


class Counted(NamedTuple):
    """What has been used of a rate in a period."""

    messages: int = 0
    kilobytes: int = 0


def cost(tiers: Sequence[Tier], units: int) -> int:
    """What the first ``units`` cost together, in micro-units; without tiers, nothing."""
    total = begun = 0
    for tier in tiers:
        end = units if tier.up_to is None else min(units, tier.up_to)
        total += max(0, end - begun) * micros(tier.price)
        begun = max(begun, end)
    return total


def price(rate: Rate, before: Counted, kilobytes: int) -> int:
    """What one message of this size costs after those before it in the period, in micro-units."""
    messages = _next(rate.per_message, rate.free_messages, before.messages, 1)
    return messages + _next(rate.per_kilobyte, rate.free_kilobytes, before.kilobytes, kilobytes)


def _next(tiers: Sequence[Tier], free: int, before: int, units: int) -> int:
    return cost(tiers, max(0, before + units - free)) - cost(tiers, max(0, before - free))
