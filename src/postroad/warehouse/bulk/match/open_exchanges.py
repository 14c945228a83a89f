"""Exchanges with all bindings and models with all nodes, built once per process and directory content.

Rules: whether they are is seen from the directory's own tables, which a change rebuilds and everything else shares, so
that nothing is compared item by item. What is opened is only read; only the last few are kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from postroad.core.exchange.exchange import BoundExchange
from postroad.core.hierarchy.index import ModelIndex
from postroad.core.hierarchy.saved_model import PARTS, open_at_once
from postroad.core.model.snapshot import Directory

KEPT = 32

T = TypeVar("T")


class _Kept(NamedTuple):
    tables: tuple[object, ...]
    key: Hashable
    opened: Any


_kept: deque[_Kept] = deque(maxlen=KEPT)


def open_exchange(gcid: str, directory: Directory, callables: frozenset[str]) -> BoundExchange:
    """Return the exchange with all bindings of the directory."""
    key = (gcid, callables, directory.assets_of(gcid))  # named routings are assets
    return _open_once((directory.bindings.of(gcid),), key, lambda: _open_bindings(gcid, directory, callables))


def open_model(gcid: str, directory: Directory) -> ModelIndex | None:
    """Return the model with all its nodes; None if it has none."""
    tables = tuple([directory.parts_of(gcid, kind) for kind in PARTS])
    return _open_once(tables, gcid, lambda: open_at_once(directory, gcid).model)


def _open_bindings(gcid: str, directory: Directory, callables: frozenset[str]) -> BoundExchange:
    exchange = BoundExchange(callables)
    for binding in directory.bindings_of(gcid):
        exchange.save(binding, directory)
    return exchange


def _open_once(tables: tuple[object, ...], key: Hashable, make: Callable[[], T]) -> T:
    for one in _kept:
        if one.key == key and all(is_now is was for is_now, was in zip(tables, one.tables, strict=True)):
            found: T = one.opened
            return found
    opened = make()
    _kept.append(_Kept(tables, key, opened))
    return opened
