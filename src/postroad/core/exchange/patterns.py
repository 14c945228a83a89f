"""Patterns of ``matches()`` that have the same meaning in XPath and in RE2.

Rule: a pattern is taken only if every character of it is known to mean the same; all others need the engine.
"""

from __future__ import annotations

import re

from postroad.core.routing.conditions.literals import pattern_of
from postroad.errors import Refused

_PLAIN = r"[A-Za-z0-9 _:/@,;=%#&<>!\"'-]"
_CLASS = r"\[\^?(?:[A-Za-z0-9_]-[A-Za-z0-9_]|[A-Za-z0-9 _:/@,])+\]"
_PIECE = re.compile(rf"{_PLAIN}|\\[.*+?()|\[\]^$\\]|{_CLASS}|\.|[*+?()|^$]|\{{[0-9]{{1,2}}(?:,[0-9]{{0,2}})?\}}")
_ANY_BUT_LINE_ENDS = r"[^\n\r]"


def to_re2_pattern(pattern: str) -> str | None:
    """The pattern as RE2 is to have it, or None if it needs the engine."""
    pieces: list[str] = []
    at = 0
    while at < len(pattern):
        piece = _PIECE.match(pattern, at)
        if piece is None or pattern.startswith("(?", at):
            return None
        pieces.append(_ANY_BUT_LINE_ENDS if piece.group() == "." else piece.group())
        at = piece.end()
    written = "".join(pieces)
    try:
        pattern_of(written)
    except Refused:
        return None
    return written


def has_match(pattern: str, text: str) -> bool:
    """Whether a pattern, already converted for RE2, is found anywhere in the text."""
    return pattern_of(pattern)(text) is not None
