"""Cache of documents parsed recently, so that the next reader need not parse them again.

The rules that route a message and the bindings of its exchange read it within milliseconds of each other, so one parse
serves both. Rules: trees are never changed; documents above ``LARGEST`` are not cached. The tree of a document up to
``SMALL`` is used only by the thread that parsed it; trees of larger documents are shared by all threads.
"""

from __future__ import annotations

from functools import lru_cache

from postroad.core.codecs.xml import Tree, parse, parse_for_this_thread
from postroad.core.codecs.xml_names import SMALL, EachThread

KEPT = 64
LARGEST = 64 << 10

_small = EachThread(lambda: lru_cache(maxsize=KEPT)(parse_for_this_thread))
_larger = lru_cache(maxsize=KEPT)(parse)


def tree_of(document: bytes) -> Tree:
    """Return the root of the document; raises Refused if it cannot be parsed."""
    if len(document) <= SMALL:
        return _small.own(document)
    return _larger(document) if len(document) <= LARGEST else parse(document)
