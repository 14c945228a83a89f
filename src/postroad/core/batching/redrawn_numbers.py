"""Control numbers for a batch that is assembled again on a gap-free send port.

Rule: the numbers that the batch drew before are used first, each once; new numbers are drawn only when these run out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from postroad.core.interchange.numbering import NumberDrawing
from postroad.core.model.interchange import DrawnNumber


class RedrawnNumbers:
    """Control numbers of one interchange: reused ones first, then new ones."""

    def __init__(self, drawing: NumberDrawing, at_hand: Iterable[DrawnNumber] = ()) -> None:
        self.drawing = drawing
        self._at_hand: dict[str, deque[DrawnNumber]] = {}
        for drawn in at_hand:
            self._at_hand.setdefault(drawn.series.rpartition(":")[2], deque()).append(drawn)
        self._again: list[DrawnNumber] = []
        self._is_drawn = False

    def next(self, scope: str) -> int:
        if left := self._at_hand.get(scope):
            self._again.append(left.popleft())
            return self._again[-1].number
        self._is_drawn = True
        return self.drawing.next(scope)

    def again(self) -> tuple[DrawnNumber, ...]:
        """Return the numbers that were reused."""
        return tuple(self._again)

    def new(self) -> tuple[DrawnNumber, ...]:
        """Return the numbers that were drawn for the first time."""
        return self.drawing.used() if self._is_drawn or not self._again else ()
