"""A sorted sequence stored in short chunks, so that long sequences change as quickly as short ones.

Rule: an insertion moves at most a chunk; taking a stretch out or putting it in handles whole chunks, not their values.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Generic, TypeVar

from postroad.core.hierarchy.keys import END, EVERYTHING, Range

T = TypeVar("T")
CHUNK = 512  # entries; split at twice as many, joined where two neighbours have no more


class SortedChunks(Generic[T]):
    """A sorted map of byte keys below ``END`` to values; each key occurs once."""

    __slots__ = ("_keys", "_values")

    def __init__(self) -> None:
        self._keys: list[list[bytes]] = []
        self._values: list[list[T]] = []

    @classmethod
    def of(cls, items: Sequence[tuple[bytes, T]]) -> SortedChunks[T]:
        """Creates a map from items that are already sorted."""
        chunks = cls()
        for begin in range(0, len(items), CHUNK):
            chunk = items[begin : begin + CHUNK]
            chunks._keys.append([key for key, _ in chunk])
            chunks._values.append([value for _, value in chunk])
        return chunks

    def __len__(self) -> int:
        return sum(map(len, self._keys))

    def __bool__(self) -> bool:
        return bool(self._keys)

    # ---- one entry ---------------------------------------------------------------------------------------------------

    def add(self, key: bytes, value: T) -> None:
        if self._keys:
            self._insert([key], [value])
        else:
            self._keys, self._values = [[key]], [[value]]

    def get(self, key: bytes) -> T:
        chunk = self._chunk_of(key)
        return self._values[chunk][bisect_left(self._keys[chunk], key)]

    def remove(self, key: bytes) -> None:
        chunk = self._chunk_of(key)
        place = bisect_left(self._keys[chunk], key)
        del self._keys[chunk][place]
        del self._values[chunk][place]
        self._mend(chunk)

    # ---- stretches ---------------------------------------------------------------------------------------------------

    def between(self, stretch: Range = EVERYTHING) -> list[T]:
        (first, begin), (last, end) = map(self._seek, stretch)
        if first == last:
            return self._values[first][begin:end] if first < len(self._values) else []
        found = self._values[first][begin:]
        found += chain.from_iterable(self._values[first + 1 : last])
        if end:
            found += self._values[last][:end]
        return found

    def holds(self, stretch: Range) -> bool:
        """Whether the range contains any key."""
        return self._seek(stretch[0]) != self._seek(stretch[1])

    def iter_skipping(self, stretch: Range, go_on_at: Callable[[bytes], bytes | None]) -> Iterator[T]:
        """Yields the values for which ``go_on_at`` returns None; otherwise continues at the key that it returns."""
        key, end = stretch
        chunk, place = self._seek(key)
        while chunk < len(self._keys) and (key := self._keys[chunk][place]) < end:
            further = go_on_at(key)
            if further is not None:
                chunk, place = self._seek(further)
                continue
            yield self._values[chunk][place]
            chunk, place = (chunk, place + 1) if place + 1 < len(self._keys[chunk]) else (chunk + 1, 0)

    def items(self) -> Iterator[tuple[bytes, T]]:
        return zip(chain.from_iterable(self._keys), chain.from_iterable(self._values), strict=True)

    def cut(self, stretch: Range) -> SortedChunks[T]:
        """Removes a range and returns it."""
        (first, begin), (last, end) = map(self._seek, stretch)
        taken: SortedChunks[T] = SortedChunks()
        if first == last and begin < end:
            taken._keys, taken._values = [self._keys[first][begin:end]], [self._values[first][begin:end]]
            del self._keys[first][begin:end], self._values[first][begin:end]
            self._mend(first)
        elif first < last:
            first, last = self._seam(stretch[0]), self._seam(stretch[1])
            taken._keys, self._keys[first:last] = self._keys[first:last], []
            taken._values, self._values[first:last] = self._values[first:last], []
            self._join(first - 1)
        return taken

    def paste(self, other: SortedChunks[T]) -> None:
        """Inserts another map into a gap between keys; the other map is then used up."""
        if len(other._keys) == 1 and self._keys:
            self._insert(other._keys[0], other._values[0])
        elif other._keys:
            seam = self._seam(other._keys[0][0])
            self._keys[seam:seam] = other._keys
            self._values[seam:seam] = other._values
            self._join(seam + len(other._keys) - 1)
            self._join(seam - 1)

    def rebase(self, length: int, prefix: bytes) -> None:
        """Put another prefix instead of the first ``length`` bytes that all keys share."""
        self._keys = [[prefix + key[length:] for key in keys] for keys in self._keys]

    # ---- chunks ------------------------------------------------------------------------------------------------------

    def _chunk_of(self, key: bytes) -> int:
        """The last chunk that begins at or before the key, or -1; a list sorts by its first item, then by the next."""
        return bisect_right(self._keys, [key, END]) - 1

    def _seek(self, key: bytes) -> tuple[int, int]:
        """Where the first entry at or behind the key is."""
        chunk = self._chunk_of(key)
        if chunk < 0:
            return 0, 0
        place = bisect_left(self._keys[chunk], key)
        return (chunk, place) if place < len(self._keys[chunk]) else (chunk + 1, 0)

    def _seam(self, key: bytes) -> int:
        """The number of the chunk that begins with the first entry at or behind the key, made so where it is not."""
        chunk, place = self._seek(key)
        if place:
            self._split(chunk, place)
            chunk += 1
        return chunk

    def _insert(self, keys: list[bytes], values: list[T]) -> None:
        """Put a few into the chunk where they belong."""
        chunk = max(0, self._chunk_of(keys[0]))
        there = self._keys[chunk]
        place = bisect_left(there, keys[0])
        there[place:place] = keys
        self._values[chunk][place:place] = values
        if len(there) > 2 * CHUNK:
            self._split(chunk, len(there) // 2)

    def _mend(self, chunk: int) -> None:
        """Restores the chunk sizes after a removal."""
        if len(self._keys[chunk]) <= CHUNK // 4:
            self._join(chunk)
            self._join(chunk - 1)

    def _split(self, chunk: int, place: int) -> None:
        keys, values = self._keys[chunk], self._values[chunk]
        self._keys[chunk : chunk + 1] = keys[:place], keys[place:]
        self._values[chunk : chunk + 1] = values[:place], values[place:]

    def _join(self, chunk: int) -> None:
        """Make one of a chunk and the next where they are short; an empty one goes."""
        if not 0 <= chunk < len(self._keys):
            return
        if not self._keys[chunk]:
            del self._keys[chunk], self._values[chunk]
        elif chunk + 1 < len(self._keys) and len(self._keys[chunk]) + len(self._keys[chunk + 1]) <= CHUNK:
            self._keys[chunk] += self._keys.pop(chunk + 1)
            self._values[chunk] += self._values.pop(chunk + 1)
