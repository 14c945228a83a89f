"""Query templates: a query without its constants, so that queries that differ only in constants are read once.

A skeleton is filled with markers and decided like any query. Where each marker comes out as the constant of a literal, any
constants of the same kinds can stand in its place. Rule: what might be read otherwise with other constants has no
skeleton; nothing is gained there, and nothing is wrong.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NamedTuple

from postroad.core.exchange.query.syntax import Constant

_PROLOG = re.compile(r"\s*+(?:declare\s[^;\"']*+(?:\"[^\"]*+\"|'[^']*+')?[^;\"']*+;\s*+)*")
_CONSTANT = re.compile(r"""("[^"&]+"|'[^'&]+'|(?<![\w.·?$-])[0-9]{1,15}(?:\.[0-9]{1,15})?(?![\w.·-]))""")
_TEXT_MARKER = "\ue000{}\ue000"
_NUMBER_MARKER = 816_000_000_000
_NO_SKELETON = re.compile(r"&|816|[0-9][eE]")  # may stand for a marker, or hide where a constant ends
QUERY_CHARS = 4_000
ROUTING_KEY_MARKER = _TEXT_MARKER.format("key")


class QueryTemplate(NamedTuple):
    pieces: tuple[str, ...]  # what stands between the constants
    kinds: str  # of the constants: s for text, i for integer, d for decimal
    has_routing_key: bool

    def filled(self) -> tuple[str, list[Constant]]:
        """A query with a marker for each constant, and the markers."""
        markers = [_marker(kind, number) for number, kind in enumerate(self.kinds)]
        written = [f"'{marker}'" if isinstance(marker, str) else str(marker) for marker in markers]
        text = self.pieces[0] + "".join(a + b for a, b in zip(written, self.pieces[1:], strict=True))
        return text, markers


def _marker(kind: str, number: int) -> Constant:
    if kind == "s":
        return _TEXT_MARKER.format(number)
    whole = _NUMBER_MARKER + number
    return whole if kind == "i" else Decimal(f"{whole}.5")


def split_constants(query: str, routing_key: str | None) -> tuple[QueryTemplate, list[Constant]] | None:
    """The skeleton and the constants, the routing key last; None if it is not certain what they are."""
    if len(query) > QUERY_CHARS:
        return None
    start = found.end() if (found := _PROLOG.match(query)) else 0
    parts = _CONSTANT.split(query[start:])
    pieces = (query[:start] + parts[0], *parts[2::2])
    if any(map(_NO_SKELETON.search, pieces)):
        return None
    constants = [_constant(written) for written in parts[1::2]]
    kinds = "".join([_KINDS[type(constant)] for constant in constants])
    if routing_key is not None:
        constants.append(routing_key)
    return QueryTemplate(pieces, kinds, routing_key is not None), constants


_KINDS = {str: "s", int: "i", Decimal: "d"}


def _constant(written: str) -> Constant:
    if written[0] in "'\"":
        return written[1:-1]
    return Decimal(written) if "." in written else int(written)
