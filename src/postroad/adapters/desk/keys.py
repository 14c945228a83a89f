"""Keys that have been used (handles, Idempotency-Keys, answers), kept in memory as far back as room allows.

Kept rule: a key that is not found here may be called new only while nothing has been forgotten; otherwise the index is asked.
"""

from __future__ import annotations

from collections import OrderedDict

from postroad.ports import IndexReader

KEYS_MOST = 1_000_000
OLD = (0, "")  # known to have been used; by whom is in the index


class SeenKeys:
    def __init__(self, most: int = KEYS_MOST) -> None:
        self._most = most
        self._seen: OrderedDict[int, tuple[int, str]] = OrderedDict()
        self._complete = True

    async def load(self, index: IndexReader) -> None:
        """Remember the keys of earlier runs."""
        rows = await index.query("recent_keys", self._most)
        self._complete = len(rows) < self._most
        for (key,) in reversed(rows):
            self._seen[key] = OLD

    def get(self, key: int) -> tuple[int, str] | None:
        return self._seen.get(key)

    def remember(self, keys: list[int], seq: int, session: str) -> None:
        for key in keys:
            self._seen.setdefault(key, (seq, session))
        while len(self._seen) > self._most:
            self._seen.popitem(last=False)
            self._complete = False

    async def find(self, key: int, index: IndexReader) -> tuple[int, str] | None:
        """Entry number and session of the first use, or None for a new key."""
        first = self._seen.get(key)
        if first is None and self._complete:
            return None
        if first is not None and first is not OLD:
            return first
        rows = await index.query("seen", key)
        return (rows[0][2], rows[0][1]) if rows else None
