"""What the plain route calculation is made of: visits that hang together as a tree, and how a tree is read from left to right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from postroad.core.model.directory import Service
from postroad.core.model.message import Argument
from postroad.core.model.rule import RuleRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    code: str
    chain: tuple[str, ...] = ()  # addresses, for a loop


@dataclass(frozen=True, slots=True)
class Tried:
    service: str
    role: RuleRole
    rule: str
    held: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Visit:
    """One service at its place in a tree, with all that its invocation brings along and all that its rules did."""

    service: Service
    role: RuleRole
    chain: tuple[str, ...]  # GCIDs, this service last
    invoker: str
    topic: str
    arguments: tuple[Argument, ...] = ()
    rule: str = ""
    payer: str = ""
    shown_sender: str = ""
    isolated: bool = False
    absorbs: bool = False
    through: tuple[str, ...] = ()
    dynamic: bool = False
    included: list[tuple[str, Visit]] = field(default_factory=list)  # before or after, in the order of inclusion
    target: Visit | None = None
    redirected: bool = False  # also when the target was at fault

    @property
    def physical(self) -> bool:
        return not self.redirected and (self.dynamic or not self.service.logical_only)


@dataclass(slots=True, kw_only=True)
class Stretch:
    """A part of the route that stands or falls as one: the sender's, or one recipient's."""

    visits: list[Visit] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    size: int = 0
    cut: bool = False  # grew beyond all limits: what else would have been wrong is not known


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """What the reference says about one recipient: the visits in order, or what may be said to be wrong."""

    named: str
    visits: tuple[Visit, ...] = ()
    faults: tuple[Fault, ...] = ()
    cut: bool = False
    ahead: tuple[Visit, ...] = ()  # the trees of which the visits were read: the sender's part …
    stretch: Stretch = field(default_factory=Stretch)  # … and the recipient's

    @property
    def hops(self) -> list[Visit]:
        return [visit for visit in self.visits if visit.physical]

    @property
    def logical(self) -> list[Visit]:
        return [visit for visit in self.visits if not visit.physical]


def first_hop(visits: list[Visit], passed: Sequence[Visit] = ()) -> Visit | None:
    return next((visit for visit in visits if visit.physical and visit not in passed), None)


def read(visits: Sequence[Visit]) -> list[Visit]:
    return [each for visit in visits for each in in_order(visit)]


def in_order(visit: Visit) -> list[Visit]:
    """A visit with everything that stands before and after it, from left to right."""
    line = [visit]
    while line[-1].target is not None:
        line.append(line[-1].target)
    before = [each for one in line for place, child in one.included if place == "before" for each in in_order(child)]
    after = [each for one in line for place, child in one.included if place == "after" for each in in_order(child)]
    return [*before, *line, *after]
