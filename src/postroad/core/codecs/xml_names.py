"""The name dictionaries of libxml2, kept small and used by one thread each.

lxml has one dictionary per thread. It keeps every name, prefix, namespace and run of blanks that was ever read in the
thread. So a sender of ever new names would fill the memory, and above about 350 MB libxml2 accepts no new names. The
dictionary has no lock. Searching a tree for a name uses the tree's dictionary, so two threads corrupt memory if one
parses a document while the other searches a tree of the same dictionary, or uses a parser of the first thread.

Rules: a parser stays in its thread, and a new parser has a new dictionary. Small documents that are parsed in one
thread share a dictionary up to a total size; every other document has its own, to which nothing is added later. A
dictionary is freed with the last tree that uses it. lxml stores the dictionary in the state of the thread, under a name that a
test of this module checks.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from threading import local
from typing import Any, Generic, TypeVar

MAX_DICTIONARY_BYTES = 128 << 10  # bytes of documents for one shared dictionary, which then has less than 1 MiB
SMALL = (
    32 << 10
)  # a document; of a larger one it is not seen in the time it takes whether it has a dictionary of its own

_KEPT_BY_LXML_AS = "_ParserDictionaryContext"
_state_address = ctypes.pythonapi.PyThreadState_GetDict
_state_address.restype = ctypes.c_void_p

_Parser = TypeVar("_Parser")
_Own = TypeVar("_Own")
_Built = TypeVar("_Built")


class KeptParser(Generic[_Parser]):
    """A parser that is reused; it is absent while it is in use and after a failure."""

    __slots__ = ("_bytes_read", "_make", "_parser")

    def __init__(self, make: Callable[[], _Parser]) -> None:
        self._make = make
        self._parser: _Parser | None = None
        self._bytes_read = 0

    def take(self, size: int) -> _Parser:
        """Return a parser for a document of this size, whose dictionary has room for its names."""
        parser, self._parser = self._parser, None
        self._bytes_read += size
        if parser is None or self._bytes_read > MAX_DICTIONARY_BYTES:
            self._bytes_read = size
            _thread_state().pop(_KEPT_BY_LXML_AS, None)
            return self._make()
        return parser

    def give_back(self, parser: _Parser) -> None:
        self._parser = parser


class EachThread(local, Generic[_Own]):
    """A value of which each thread has its own."""

    def __init__(self, make: Callable[[], _Own]) -> None:
        self.own = make()


def build_with_own_names(build: Callable[[], _Built]) -> _Built:
    """Build with a new parser, whose name dictionary is shared with nothing else."""
    state = _thread_state()
    shared = state.pop(_KEPT_BY_LXML_AS, None)
    try:
        return build()
    finally:
        state.pop(_KEPT_BY_LXML_AS, None)
        if shared is not None:
            state[_KEPT_BY_LXML_AS] = shared


def _thread_state() -> dict[str, Any]:
    state: dict[str, Any] = ctypes.cast(_state_address(), ctypes.py_object).value
    return state
