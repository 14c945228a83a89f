"""Control numbers of a batch that is assembled again, on a port that leaves no gaps.

Kept rule: what the batch has drawn before is used first, each number once; only what that does not cover is drawn anew.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from postroad.core.interchange.numbering import Drawing
from postroad.core.model.interchange import Drawn


class Redrawing:
    """Numbers of one interchange: those at hand, then new ones."""

    def __init__(self, drawing: Drawing, at_hand: Iterable[Drawn] = ()) -> None:
        self.drawing = drawing
        self._at_hand: dict[str, deque[Drawn]] = {}
        for drawn in at_hand:
            self._at_hand.setdefault(drawn.series.rpartition(":")[2], deque()).append(drawn)
        self._again: list[Drawn] = []
        self._is_drawn = False

    def next(self, scope: str) -> int:
        if left := self._at_hand.get(scope):
            self._again.append(left.popleft())
            return self._again[-1].number
        self._is_drawn = True
        return self.drawing.next(scope)

    def again(self) -> tuple[Drawn, ...]:
        """Those that were used once more."""
        return tuple(self._again)

    def new(self) -> tuple[Drawn, ...]:
        """Those that nobody has used before."""
        return self.drawing.used() if self._is_drawn or not self._again else ()
