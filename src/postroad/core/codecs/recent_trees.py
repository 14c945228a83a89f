"""Cache of documents parsed recently, so that the next reader need not parse them again.

The rules that route a message and the bindings of the exchange it is sent to look at it within milliseconds of each other, so
that one parse serves both. Rules: trees are only looked at, never changed; what is large is not kept. A small document's
tree is for the thread that asked for it, and shown to no other; larger ones, at which threads beside the event loop look, are
for all of them.
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
    """The root of the document; raises Refused when it cannot be parsed."""
    if len(document) <= SMALL:
        return _small.own(document)
    return _larger(document) if len(document) <= LARGEST else parse(document)
