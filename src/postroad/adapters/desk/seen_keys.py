"""Keys that were used recently (handles, Idempotency-Keys, responses), kept in memory within a limit.

Rule: a missing key counts as new only while nothing has been forgotten; otherwise the index is queried. There are two
generations: when the younger is full it becomes the older, and the older is dropped as a whole, without cost for each
key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from postroad.ports import IndexReader

MAX_GENERATION = 300_000


class SeenKeys:
    def __init__(self, generation_most: int = MAX_GENERATION) -> None:
        self._most = generation_most
        # key → number of the entry that used it; negative if an earlier one may have been forgotten
        self._young: dict[int, int] = {}
        self._old: dict[int, int] = {}
        self._complete = True

    async def load(self, index: IndexReader) -> None:
        """Load the keys of earlier runs."""
        self._load(await index.query("recent_keys", self._most))

    async def load_from(self, index: IndexReader, least: int) -> None:
        """Load the keys of earlier runs that are at least ``least``."""
        self._load(await index.query("keys_from", least, self._most))

    def _load(self, rows: list[tuple[Any, ...]]) -> None:
        self._complete = len(rows) < self._most
        self._old = dict.fromkeys((key for (key,) in rows), 0)  # 0: used; the index has the entry

    def decides(self, key: int) -> bool:
        """Whether ``has`` is certain about this key."""
        return self._complete or self.has(key)

    def has(self, key: int) -> bool:
        return key in self._young or key in self._old

    def remember(self, keys: Sequence[int], seq: int) -> None:
        young, old = self._young, self._old
        for key in keys:
            if key not in old:
                young.setdefault(key, seq if self._complete else -seq)
        if len(young) >= self._most:
            self._complete = self._complete and not old
            self._young, self._old = {}, young

    async def find(self, key: int, index: IndexReader) -> int | None:
        """Return the number of the entry that used the key first, or None for a new key."""
        seq = self._young.get(key) or self._old.get(key) or 0
        if seq > 0:
            return seq
        if self._complete and not self.has(key):
            return None
        rows = await index.query("seen", key)
        return rows[0][2] if rows else -seq or None
