"""Types shared by all standards: members, envelopes, errors, and how envelope errors are handled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

import msgspec
from msgspec import Struct

from postroad.core.model.batch_policy import OnEnvelopeError as OnEnvelopeError

Buffer = bytes | memoryview
MAX_MEMBERS = 1_000_000  # default limit of members of one interchange


class PartnerStatus(StrEnum):
    """The status that a partner reports for something we sent."""

    RECEIVED = "received"  # received; the content has no status yet
    ACCEPTED = "accepted"
    NOTED = "accepted with errors"
    PARTLY = "partly accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True, kw_only=True)
class InterchangeFault:
    """One error in an interchange."""

    code: str  # stable: x12.count, x12.control, edifact.una …
    text: str
    at: int = 0  # byte offset
    fatal: bool = False  # never tolerated: the boundaries of members are uncertain
    repaired: bool = False
    group: int = -1  # index in ``Split.groups`` of the affected group; -1: the interchange itself
    member: int = -1  # index in ``Split.members`` of the affected member


class Member(Struct, frozen=True, gc=False):
    """One document of an interchange: a transaction set, a message, a record.

    There may be a million members, hence a Struct, which is also created without field names, in two thirds of the
    time.
    """

    data: Buffer  # its bytes as received
    kind: str  # 850, ORDERS, ADT^A01, 103 …
    reference: str  # its own control number: ST02, UNH 0062, MSH-10
    group: int = 0  # index of its group in ``Split.groups``
    facts: Mapping[str, str] = msgspec.field(
        default_factory=dict
    )  # version and other values for routing, by lower-case name


class DescribedDocument(Struct, frozen=True, gc=False):
    """A document for an assembler, with the options that its message declares (``read_declared_options``)."""

    data: Buffer
    options: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class InterchangeGroup:
    """A functional group; the whole interchange if the standard has no groups."""

    kind: str = ""
    reference: str = ""
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A split interchange."""

    standard: str  # x12, edifact, hl7, swift …
    reference: str  # its control number: ISA13, UNB 0020, BHS-11
    sender: str
    receiver: str
    members: tuple[Member, ...]
    groups: tuple[InterchangeGroup, ...] = ()
    facts: Mapping[str, str] = field(
        default_factory=dict
    )  # delimiters, version, date, test indicator, request for an acknowledgment
    faults: tuple[InterchangeFault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """The envelope of a batch: sender, receiver, time and options; the caller passes time and numbers."""

    sender: str
    receiver: str
    at_us: int
    options: Mapping[str, str] = field(default_factory=dict)  # qualifiers, versions, delimiters, charset, test …

    @property
    def facts(self) -> Mapping[str, str]:
        """The options, under the name used by plug-ins written for version 0.2."""
        return self.options


class Numbers(Protocol):
    """Control numbers of one partner, drawn once each; persistent, and never issued twice."""

    def next(self, scope: str) -> int:
        """Return the next number of a scope: interchange, group, member …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Where a document was placed, by the identifiers that an acknowledgment will use."""

    position: int  # index of its member, from 0
    interchange: str  # control number of the interchange: ISA13, UNB 0020, FHS-11
    group: str = ""  # of its group: GS06, UNG 0048, BHS-11
    kind: str = ""  # ST01, UNH 0065, MSH-9 …
    reference: str = ""  # ST02, UNH 0062, MSH-10 …
    facts: Mapping[str, str] = field(
        default_factory=dict
    )  # other values in an acknowledgment: date, time, kind of group


PlacedCallback = Callable[[Placed], None]


class Assemble(Protocol):
    def __call__(
        self, members: Iterable[Buffer], envelope: Envelope, numbers: Numbers, placed: PlacedCallback | None = None
    ) -> Iterator[bytes]:
        """Yield the pieces of the stream; calls ``placed`` for every document, with its piece or at the end."""


class AssembleDescribed(Protocol):
    def __call__(
        self,
        members: Iterable[Buffer | DescribedDocument],
        envelope: Envelope,
        numbers: Numbers,
        placed: PlacedCallback | None = None,
    ) -> Iterator[bytes]:
        """Yield the pieces of the stream, from documents that may declare their delimiters and charset."""
