"""Interchanges in the journal: control numbers, document positions and acknowledgments.

As in all entries, fields are only added at the end, with a default.
"""

from __future__ import annotations

from msgspec import Struct

from postroad.core.model.batch import Batch


class DrawnNumber(Struct, gc=False, frozen=True, array_like=True):
    """A control number that an interchange uses; it is never drawn again."""

    series: str  # standard, organization, both sides and the scope: x12:mybiz:SENDER:RECEIVER:interchange
    number: int


class DocumentPosition(Struct, gc=False, frozen=True, array_like=True):
    """The position of a document in its interchange, by the names an acknowledgment uses."""

    delivery: int  # with which it joined; documents of one message share it
    interchange: str
    group: str = ""
    kind: str = ""
    reference: str = ""
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names by which an acknowledgment may refer to the document."""
        return tuple([name for name in (self.reference, dict(self.facts).get("user_reference", "")) if name])


class AssembledInterchange(Struct, gc=False, frozen=True, array_like=True):
    """An interchange made by the network: its batch, control numbers and document positions."""

    standard: str
    numbers: tuple[DrawnNumber, ...]
    batch: Batch | None = None  # after this entry; None: an acknowledgment of a partner's interchange
    filed: tuple[DocumentPosition, ...] = ()  # in the order of the interchange
    by_document: bool = False  # acknowledgments name only documents, so it is found by these


class AnsweredMember(Struct, gc=False, frozen=True, array_like=True):
    """The partner's status for one document of an interchange."""

    delivery: int
    verdict: str
    reasons: tuple[str, ...] = ()
