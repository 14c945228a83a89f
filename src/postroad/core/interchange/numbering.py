"""Control numbers from one party to another: drawn from where the last interchange ended, or drawn again.

Rules: a number is used up only by the entry that contains the interchange with it. So numbers are only reserved here,
and the writer of that entry stores them with it; if two writers draw the same number, the second draws again. A batch
that is assembled again on a gap-free send port uses the numbers that it drew before first, each once, and draws new
ones only when these run out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from postroad.core.model.interchange import DrawnNumber
from postroad.errors import Refused

SCOPES = ("interchange", "group", "member")


class NumberingParties(NamedTuple):
    """The parties of a number series. The organization is included, because envelope names are not authenticated."""

    organization: str
    standard: str
    sender: str
    receiver: str

    def series(self, scope: str) -> str:
        """The name of a number series: x12:mybiz:SENDER:RECEIVER:interchange."""
        return f"{self.standard}:{self.organization.casefold()}:{self.sender}:{self.receiver}:{scope}"


class NumberDrawing:
    """The numbers that one interchange uses."""

    def __init__(self, sides: NumberingParties, latest: Mapping[str, int]) -> None:
        self._sides = sides
        self._latest = dict(latest)
        self._drawn: list[DrawnNumber] = []

    def next(self, scope: str) -> int:
        if scope not in SCOPES:  # its last number could not be found
            raise Refused("interchange.unfit", f"numbers are assigned for {', '.join(SCOPES)}, not for {scope!r}")
        number = self._latest.get(scope, 0) + 1
        self._latest[scope] = number
        self._drawn.append(DrawnNumber(self._sides.series(scope), number))
        return number

    def after(self) -> NumberDrawing:
        """Return a drawing for the next interchange, which continues after this one."""
        return NumberDrawing(self._sides, self._latest)

    def list_used(self) -> tuple[DrawnNumber, ...]:
        """Return all drawn numbers; at least one, because an interchange is found by its number."""
        if not self._drawn:
            self.next("interchange")
        return tuple(self._drawn)


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

    def list_new(self) -> tuple[DrawnNumber, ...]:
        """Return the numbers that were drawn for the first time."""
        return self.drawing.list_used() if self._is_drawn or not self._again else ()
