"""Where documents went, told in the same words whatever the standard's own room calls it.

Kept rule: every document of a batch is told of, also in standards whose answers name none: then it is known by its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from postroad.core.interchange import edifact, hl7, swift, x12
from postroad.core.interchange.nouns import Assemble, Buffer, Envelope, Note, Numbers, Placed

Plain = Callable[[Iterable[Buffer], Envelope, Numbers], Iterator[bytes]]


def by_place(assemble: Plain) -> Assemble:
    """For rooms whose documents nobody answers one by one: they are told of at the end of the stream, by their place in it."""

    def assembled(
        members: Iterable[Buffer], envelope: Envelope, numbers: Numbers, placed: Note | None = None
    ) -> Iterator[bytes]:
        counted, seen = _Counted(members), _Seen(numbers, envelope.facts.get("reference", ""))
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
    """Numbers, of which it is remembered what the interchange is called."""

    def __init__(self, numbers: Numbers, interchange: str) -> None:
        self._numbers, self.interchange = numbers, interchange

    def next(self, scope: str) -> int:
        number = self._numbers.next(scope)
        if scope == "interchange":
            self.interchange = str(number)
        return number


def assemble_x12(
    members: Iterable[Buffer], envelope: Envelope, numbers: Numbers, placed: Note | None = None
) -> Iterator[bytes]:
    return x12.assemble(members, envelope, numbers, None if placed is None else lambda one: placed(_of_set(one)))


def _of_set(one: x12.Placed) -> Placed:
    return Placed(
        position=one.position,
        interchange=str(one.interchange),
        group=str(one.group),
        kind=one.kind,
        reference=one.reference,
        facts={"date": one.date, "time": one.time, "group_kind": one.group_kind},
    )


def assemble_edifact(
    members: Iterable[Buffer], envelope: Envelope, numbers: Numbers, placed: Note | None = None
) -> Iterator[bytes]:
    return edifact.assemble(
        members, envelope, numbers, None if placed is None else lambda one: placed(_of_message(one))
    )


def _of_message(one: edifact.Placed) -> Placed:
    return Placed(
        position=one.position,
        interchange=one.interchange,
        group=one.group,
        kind=one.kind,
        reference=one.reference,
    )


def assemble_hl7(
    members: Iterable[Buffer], envelope: Envelope, numbers: Numbers, placed: Note | None = None
) -> Iterator[bytes]:
    return hl7.assemble(members, envelope, numbers, None if placed is None else lambda one: placed(_of_hl7(one)))


def _of_hl7(one: hl7.Placed) -> Placed:
    return Placed(position=one.position, interchange=one.file, group=one.batch, kind=one.kind, reference=one.reference)


def assemble_swift(
    members: Iterable[Buffer], envelope: Envelope, numbers: Numbers, placed: Note | None = None
) -> Iterator[bytes]:
    return swift.assemble(members, envelope, numbers, None if placed is None else lambda one: placed(_of_fin(one)))


def _of_fin(one: swift.Placed) -> Placed:
    """A file of FIN messages has no name; SWIFT answers each by its references."""
    facts = {"user_reference": one.user_reference} if one.user_reference else {}
    return Placed(position=one.position, interchange="", kind=one.kind, reference=one.reference, facts=facts)
