"""Documents parsed a moment ago: whoever looks at the same one next need not parse it again.

The rules that route a message and the bindings of the exchange it is sent to look at it within milliseconds of each other, so
that one parse serves both. Kept rules: trees are only looked at, never changed; what is large is not kept.
"""

from __future__ import annotations

from functools import lru_cache

from postroad.core.codecs.xml import Tree, parse

KEPT = 64
LARGEST = 64 << 10

_kept = lru_cache(maxsize=KEPT)(parse)


def tree_of(document: bytes) -> Tree:
    """The root of the document; raises Refused when it cannot be parsed."""
    return _kept(document) if len(document) <= LARGEST else parse(document)
