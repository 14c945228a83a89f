"""Exchanges with all their bindings, opened once for each directory and process, however many tasks a worker is given.

Kept rule: a directory is known by itself, not by what it says, so none is compared; only the last few are kept.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from postroad.core.exchange.bound import BoundExchange
from postroad.core.model.snapshot import Directory

KEPT = 8


class _Opened(NamedTuple):
    directory: Directory
    gcid: str
    callables: frozenset[str]
    exchange: BoundExchange


_opened: deque[_Opened] = deque(maxlen=KEPT)


def opened_exchange(gcid: str, directory: Directory, callables: frozenset[str]) -> BoundExchange:
    """The exchange with every binding that the directory has for it; read only."""
    for one in _opened:
        if one.directory is directory and (one.gcid, one.callables) == (gcid, callables):
            return one.exchange
    exchange = BoundExchange(callables)
    for binding in directory.bindings_of(gcid):
        exchange.save(binding, directory)
    _opened.append(_Opened(directory, gcid, callables, exchange))
    return exchange
