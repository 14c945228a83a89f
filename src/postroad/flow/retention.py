"""Retention: find how far back bodies may be dropped."""

from __future__ import annotations

from postroad.core.projection.queries import QUERIES
from postroad.ports import IndexReader

AT = QUERIES["all_messages"][1].index("at_us")


async def find_retention_limit(index: IndexReader, before_us: int) -> int:
    """Return the first entry whose body must be kept; all bodies before it may be dropped."""
    old = await _first_since(index, before_us)
    waiting = await index.query("oldest_queued")
    return min(old, waiting[0][0]) if waiting and waiting[0][0] is not None else old


async def _first_since(index: IndexReader, since_us: int) -> int:
    """The first entry after the last message posted before that time, found by halving the range of numbers."""
    low, high = 0, (await index.position()).seq + 1
    while low < high:
        middle = (low + high + 1) // 2
        newest_before = await index.query("all_messages", middle, 1)
        if not newest_before or newest_before[0][AT] < since_us:
            low = middle
        else:
            high = min(middle - 1, newest_before[0][0])
    return low
