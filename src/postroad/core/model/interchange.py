"""Interchanges as the journal knows them: the numbers they use, what stands where in them, and what partners say of them.

As in all entries, fields are only ever added at the end, with a default.
"""

from __future__ import annotations

from msgspec import Struct

from postroad.core.model.batch import Batch


class Drawn(Struct, gc=False, frozen=True, array_like=True):
    """A control number that an interchange uses; nobody draws it again."""

    series: str  # whose, one side to the other, and the scope: x12:mybiz:SENDER:RECEIVER:interchange
    number: int


class Filed(Struct, gc=False, frozen=True, array_like=True):
    """Where a document of a batch stands in its interchange, by the names that a partner's answer uses."""

    delivery: int  # by which it joined; several documents of one message have the same
    interchange: str
    group: str = ""
    kind: str = ""
    reference: str = ""
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """What an answer may call the document itself."""
        return tuple([name for name in (self.reference, dict(self.facts).get("user_reference", "")) if name])


class Assembled(Struct, gc=False, frozen=True, array_like=True):
    """Of a message that is an interchange made by the network: of which batch, with which numbers, and what is where in it."""

    standard: str
    numbers: tuple[Drawn, ...]
    batch: Batch | None = None  # as it is from now on; None: an answer to a partner's interchange
    filed: tuple[Filed, ...] = ()  # in the order in which they stand there
    by_document: bool = False  # answers name its documents and nothing else, so by these it is found again


class AnsweredMember(Struct, gc=False, frozen=True, array_like=True):
    """What a partner says of one document that it was sent."""

    delivery: int
    verdict: str
    reasons: tuple[str, ...] = ()
