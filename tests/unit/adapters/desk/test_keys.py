"""Keys in memory: what was used is never called new, however little is remembered."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroad.adapters.desk.seen_keys import SeenKeys
from postroad.adapters.memory.index import MemoryIndex
from postroad.ports import JournalHead


@given(st.lists(st.integers(-5, 5), max_size=40), st.integers(1, 4), st.integers(0, 10))
async def test_memory_and_index_together_know_every_key(keys: list[int], most: int, loaded: int) -> None:
    index = MemoryIndex()
    first: dict[int, int] = {}
    seen = SeenKeys(most)
    for seq, key in enumerate(keys, 1):
        if seq == loaded + 1:  # a restart
            seen = SeenKeys(most)
            await seen.load(index)
        assert await seen.find(key, index) == first.get(key)
        assert seen.has(key) <= (key in first)
        first.setdefault(key, seq)
        seen.remember([key], seq)
        await index.apply({"insert_seen": [(key, "", first[key], 0)]}, JournalHead(seq, b""))


async def test_while_nothing_is_forgotten_the_index_is_not_asked() -> None:
    class NobodyAsks(MemoryIndex):
        async def query(self, name: str, *parameters: object) -> list[tuple[object, ...]]:
            assert name == "recent_keys"
            return []

    seen = SeenKeys(10)
    index = NobodyAsks()
    await seen.load(index)
    seen.remember([1, 2], 7)
    assert [await seen.find(key, index) for key in (1, 2, 3)] == [7, 7, None]
