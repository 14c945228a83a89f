"""What the rules of one service may cost for one message.

Kept rule: every service has a share of its own. So neither a hostile document nor thousands of careless rules make others wait,
and nobody can use up what another service's rules need, which would make their conditions false.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from postroad.core.routing.xml_walk import TooManyNodes

CANONICAL_CHARS = 500_000  # that are written out, all conditions together
MATCHED_CHARS = 1_000_000  # that patterns look at, all conditions together
LOOKED_MOST = 1_000_000  # nodes that paths pass, all conditions together


class Shares:
    __slots__ = ("_canonical_left", "_looked_left", "_matched_left", "faults")

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._canonical_left = CANONICAL_CHARS
        self._matched_left = MATCHED_CHARS
        self._looked_left = LOOKED_MOST

    @property
    def is_looked_up(self) -> bool:
        """Whether no path is followed any more."""
        return self._looked_left < 0

    def look(self, nodes: int) -> None:
        """A path passes so many nodes; raises TooManyNodes when that is more than the share."""
        self._looked_left -= nodes
        if self._looked_left < 0:
            self._note(f"paths pass no more than {LOOKED_MOST} nodes of one message")
            raise TooManyNodes

    def may_match(self, texts: Iterable[str]) -> bool:
        """Whether patterns may still look at these texts."""
        self._matched_left -= sum(map(len, texts))
        if self._matched_left < 0:
            self._note(f"patterns look at no more than {MATCHED_CHARS} characters of one message")
        return self._matched_left >= 0

    def canonical(self, write: Callable[[int], str], most: int) -> str:
        """A content written out, as long as the share lasts."""
        if self._canonical_left <= 0:
            self._note(f"no more than {CANONICAL_CHARS} characters of element content are compared in one message")
            return ""
        text = write(most)
        self._canonical_left -= len(text)
        return text

    def _note(self, fault: str) -> None:
        if fault not in self.faults:
            self.faults.append(fault)
