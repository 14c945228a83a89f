"""A service says only what it wants to receive, and gets it.

    Wire ─look→ Found ─take→ Taken (header, parts, setting) … journal … Outgoing ─give→ Given (headers, bytes, what was dropped)

``looking.py`` finds a wire's format by its bytes; each ``*_format.py`` takes one format apart and gives it again; ``translating.py``
is the one table of them. The canonical message between them is the network's own: parts with ids, types and exact bytes.

Kept rules: same format and same parts give the same bytes (``setting.py``); whatever a format has no place for is named in
``Given.dropped``; boundaries and the like come from a seed, so that the same delivery has the same bytes each time.
"""
