"""Control numbers of one side towards the other: drawn from where the last interchange left them.

Kept rule: a number is used up only by the entry that holds the interchange with it. So numbers are drawn here in thought, and
whoever writes that entry gives them with it; of two that drew the same at the same time, the second draws again.
"""

from __future__ import annotations

from collections.abc import Mapping

from postroad.core.model.interchange import Drawn
from postroad.errors import Refused

SCOPES = ("interchange", "group", "member")


def series_of(standard: str, sender: str, receiver: str, scope: str) -> str:
    """What numbers are counted in: x12:SENDER:RECEIVER:interchange."""
    return f"{standard}:{sender}:{receiver}:{scope}"


class Drawing:
    """The numbers that one interchange uses."""

    def __init__(self, *, standard: str, sender: str, receiver: str, latest: Mapping[str, int]) -> None:
        self._names = (standard, sender, receiver)
        self._latest = dict(latest)
        self._drawn: list[Drawn] = []

    def next(self, scope: str) -> int:
        if scope not in SCOPES:  # nobody would know where its last number is
            raise Refused("interchange.unfit", f"numbers are drawn for {', '.join(SCOPES)}, and not for {scope!r}")
        number = self._latest.get(scope, 0) + 1
        self._latest[scope] = number
        self._drawn.append(Drawn(series_of(*self._names, scope), number))
        return number

    def after(self) -> Drawing:
        """For the next interchange, which goes on where this one ends."""
        standard, sender, receiver = self._names
        return Drawing(standard=standard, sender=sender, receiver=receiver, latest=self._latest)

    def used(self) -> tuple[Drawn, ...]:
        """All that were drawn. By one of them an interchange is found again, so one that asked for none has one beside it."""
        if not self._drawn:
            self.next("interchange")
        return tuple(self._drawn)
