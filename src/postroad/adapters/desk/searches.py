"""Remembers how far polls with a selector have searched queues that are too long to read at once.

Rule: a claim searches for at most ``SEARCH_S``. The next claim with the same selector continues where the last one
stopped, so every delivery is checked however long the queue is, and no poll takes longer than its wait. A completed
search is not repeated for ``again_s``; until then only later deliveries are checked.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from postroad.core.model.selector import Selector

SEARCH_S = 0.5
PAGE_ROWS = 256  # decoded at a time, which blocks the event loop
MAX_SEARCHES = 1_000

Key = tuple[str, type[Selector], Selector]


class Search(NamedTuple):
    after: int  # the last number that was checked
    began_at: float | None  # when the search was completed; None: it is not complete


class Searches:
    def __init__(self, again_s: float) -> None:
        self._again_s = again_s
        self._searches: OrderedDict[Key, Search] = OrderedDict()

    def begin(self, mailbox: str, selector: Selector, now: float) -> int:
        """Return the number after which the search continues."""
        search = self._searches.get((mailbox, type(selector), selector))
        if search is None or (search.began_at is not None and now >= search.began_at + self._again_s):
            return 0
        return search.after

    def stop(self, mailbox: str, selector: Selector, after: int, now: float, *, through: bool) -> None:
        """Remember the last number that was checked."""
        key = (mailbox, type(selector), selector)
        before = self._searches.pop(key, None)
        began_at = None
        if through:
            goes_on = before is not None and before.began_at is not None and now < before.began_at + self._again_s
            began_at = before.began_at if goes_on and before is not None else now
        self._searches[key] = Search(after, began_at)
        if len(self._searches) > MAX_SEARCHES:
            self._searches.popitem(last=False)

    def is_under_way(self, mailbox: str, selector: Selector) -> bool:
        """Whether the last claim stopped before the end of the queue."""
        search = self._searches.get((mailbox, type(selector), selector))
        return search is not None and search.began_at is None
