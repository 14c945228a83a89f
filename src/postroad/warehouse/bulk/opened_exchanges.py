"""Exchanges with all their bindings and models with all their nodes, opened once in a process for as long as they are the same.

Kept rules: whether they are is seen from the directory's own tables, which a change makes anew and everything else shares, so
that nothing is compared item by item. What is opened is only read; only the last few are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from postroad.core.exchange.bound import BoundExchange
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.saved import PARTS, opened_at_once
from postroad.core.model.snapshot import Directory

KEPT = 32

T = TypeVar("T")


class _Kept(NamedTuple):
    tables: tuple[object, ...]
    key: Hashable
    opened: Any


_kept: deque[_Kept] = deque(maxlen=KEPT)


def opened_exchange(gcid: str, directory: Directory, callables: frozenset[str]) -> BoundExchange:
    """The exchange with every binding that the directory has for it."""
    key = (gcid, callables, directory.assets_of(gcid))  # named routings are assets
    return _once((directory.bindings.of(gcid),), key, lambda: _bound(gcid, directory, callables))


def opened_model(gcid: str, directory: Directory) -> ModelIndex | None:
    """The model with all its nodes; None when it has none."""
    tables = tuple([directory.parts_of(gcid, kind) for kind in PARTS])
    return _once(tables, gcid, lambda: opened_at_once(directory, gcid).model)


def _bound(gcid: str, directory: Directory, callables: frozenset[str]) -> BoundExchange:
    exchange = BoundExchange(callables)
    for binding in directory.bindings_of(gcid):
        exchange.save(binding, directory)
    return exchange


def _once(tables: tuple[object, ...], key: Hashable, make: Callable[[], T]) -> T:
    for one in _kept:
        if one.key == key and all(is_now is was for is_now, was in zip(tables, one.tables, strict=True)):
            found: T = one.opened
            return found
    opened = make()
    _kept.append(_Kept(tables, key, opened))
    return opened
