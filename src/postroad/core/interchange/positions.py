"""Positions of documents, for standards whose acknowledgments do not name documents.

Rule: the position of every document of a batch is recorded, so that an acknowledgment can be matched to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from postroad.core.interchange.model import Assemble, Buffer, Envelope, Numbers, Placed, PlacedCallback
from postroad.core.model.interchange import DocumentPosition

Plain = Callable[[Iterable[Buffer], Envelope, Numbers], Iterator[bytes]]


def by_place(assemble: Plain) -> Assemble:
    """Wrap ``assemble`` for standards without named documents: reports each document by its position, at the end."""

    def assembled(
        members: Iterable[Buffer], envelope: Envelope, numbers: Numbers, placed: PlacedCallback | None = None
    ) -> Iterator[bytes]:
        counted, seen = _Counted(members), _Seen(numbers, envelope.options.get("reference", ""))
        yield from assemble(counted, envelope, seen)
        if placed is not None:
            for position in range(counted.count):
                placed(Placed(position=position, interchange=seen.interchange, reference=str(position + 1)))

    return assembled


class _Counted:
    def __init__(self, members: Iterable[Buffer]) -> None:
        self._members, self.count = members, 0

    def __iter__(self) -> Iterator[Buffer]:
        for one in self._members:
            self.count += 1
            yield one


class _Seen:
    """Numbers that record the number of the interchange."""

    def __init__(self, numbers: Numbers, interchange: str) -> None:
        self._numbers, self.interchange = numbers, interchange

    def next(self, scope: str) -> int:
        number = self._numbers.next(scope)
        if scope == "interchange":
            self.interchange = str(number)
        return number


def record_position(placed: Placed, delivery: int) -> DocumentPosition:
    """Return the position of a document; ``delivery`` is the delivery that joined the batch."""
    facts = tuple(placed.facts.items())
    return DocumentPosition(delivery, placed.interchange, placed.group, placed.kind, placed.reference, facts)
