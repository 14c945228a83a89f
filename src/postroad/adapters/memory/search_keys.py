"""Answers the memory index's queries by search key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from postroad.core.projection.tables import TABLES

if TYPE_CHECKING:
    from postroad.adapters.memory.index import MemoryIndex

Row = tuple[Any, ...]
HEADER = TABLES["message"].index("header")


def _found(index: MemoryIndex, key: int, before_seq: int, limit: int) -> Iterator[Row]:
    seqs = sorted([seq for _, seq in index.all("found", key=key) if seq < before_seq], reverse=True)
    for seq in seqs[:limit]:
        yield from ((seq, row[1], row[HEADER]) for row in index.all("message", seq=seq))
        yield from ((seq, row[1], None) for row in index.all("refused", seq=seq))


SEARCH_KEY_ANSWERS: dict[str, Callable[..., Iterable[Row]]] = {"found": _found}
