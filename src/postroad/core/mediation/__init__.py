"""Mediation: delivers every message in the format that its recipient has chosen.

    Wire ─look→ Found ─take→ Taken (header, parts, setting) … journal … Outgoing ─give→ Given (headers, bytes, what was dropped)

``looking.py`` finds a wire's format by its bytes; each ``*_format.py`` takes one format apart and gives it again, and
``translating.py`` is the one table of them. Between them stands the network's own message: parts with ids, types, exact bytes.

Rules: same format and same parts give the same bytes (``setting.py``); whatever a format has no place for is named in
``Given.dropped`` (``losses.py``); boundaries and the like come from a seed, so that a delivery has the same bytes each time.
"""
