"""An immutable table of millions of objects by key; a change creates a new table that shares the rest.

A key begins with the GCID of the service that owns the object, so the objects of one service are found directly.
Rule: the cost of saving or removing one object does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rpds import HashTrieMap

_NONE: HashTrieMap[str, Any] = HashTrieMap()


class Owned(Mapping[str, Any]):
    """A mapping from keys to objects that can also list the objects of one owner."""

    __slots__ = ("_by_owner", "_count")

    def __init__(self, by_owner: HashTrieMap[str, HashTrieMap[str, Any]] | None = None, count: int = 0) -> None:
        self._by_owner: HashTrieMap[str, HashTrieMap[str, Any]] = HashTrieMap() if by_owner is None else by_owner
        self._count = count

    def of(self, owner: str) -> Mapping[str, Any]:
        """Return the objects of one service by key, in no order."""
        mine: Mapping[str, Any] = self._by_owner.get(owner, _NONE)
        return mine

    def with_item(self, key: str, item: Any) -> Owned:
        owner = key.partition("/")[0]
        mine = self._by_owner.get(owner, _NONE)
        return Owned(self._by_owner.insert(owner, mine.insert(key, item)), self._count + (key not in mine))

    def without_item(self, key: str) -> Owned:
        owner = key.partition("/")[0]
        mine = self._by_owner.get(owner, _NONE)
        if key not in mine:
            return self
        left = mine.remove(key)
        by_owner = self._by_owner.insert(owner, left) if left else self._by_owner.remove(owner)
        return Owned(by_owner, self._count - 1)

    def without(self, owner: str) -> Owned:
        """Return the table without the objects of one service."""
        mine = self._by_owner.get(owner, _NONE)
        return Owned(self._by_owner.remove(owner), self._count - len(mine)) if mine else self

    def __getitem__(self, key: str) -> Any:
        return self._by_owner.get(key.partition("/")[0], _NONE)[key]

    def __iter__(self) -> Iterator[str]:
        return (key for mine in self._by_owner.values() for key in mine)

    def __len__(self) -> int:
        return self._count

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (dict(self),)


def _again(items: dict[str, Any]) -> Owned:
    table = Owned()
    for key, item in items.items():
        table = table.with_item(key, item)
    return table
