"""What a route calculation says about a message, in one form for the product and for the reference."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from postroad.core.admission.admit import Admitted
from postroad.core.model.caller import Caller
from postroad.core.model.message import Argument
from postroad.core.model.route import Context, Copy, Hop
from postroad.core.routing.itinerary import itineraries
from postroad.errors import Refused
from tests.property.routing.networks import Posted
from tests.property.routing.reference import Reference
from tests.property.routing.visits import Tried, Visit, Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One service on a way, with everything about its invocation that is specified; ids of contexts are not."""

    service: str
    arguments: tuple[Argument, ...]
    invoker: str
    topic: str
    rule: str
    payer: str
    shown_sender: str
    isolated: bool
    absorbs: bool
    dynamic: bool
    through: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Where one copy goes, or why it does not go."""

    named: str
    hops: tuple[Stop, ...] = ()
    logical: tuple[tuple[Stop, int], ...] = ()  # in no particular order: each with how often it takes part
    code: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    refused: str = ""  # the whole post
    detail: str = ""
    outcomes: tuple[Outcome, ...] = ()
    tried: tuple[Tried, ...] = ()


def admitted(posted: Posted) -> Admitted:
    return Admitted(posted.message, posted.sender, Caller(service=posted.sender), 1, 2)


def by_product(posted: Posted) -> Answer:
    try:
        routed = itineraries(admitted(posted), posted.directory)
    except Refused as refused:
        return Answer(refused=refused.code, detail=refused.detail)
    tried = tuple(Tried(each.service, each.role, rule.name, rule.held) for each in routed.tried for rule in each.rules)
    return Answer(outcomes=tuple(_outcome(copy, posted) for copy in routed.copies), tried=tried)


def by_reference(posted: Posted) -> Answer:
    """What the reference says; where a part has several faults it names the first."""
    said = Reference(posted.message, posted.sender, posted.directory)
    faults = [*said.outset.faults] or [way.faults[0] for way in said.ways if way.faults]
    if len(faults) == len(posted.message.to) or said.outset.faults:
        return Answer(refused=faults[0].code, detail=" → ".join(faults[0].chain))
    return Answer(outcomes=tuple(expected(way) for way in said.ways), tried=tuple(said.tried))


def expected(way: Way) -> Outcome:
    if way.faults:
        return Outcome(named=way.named, code=way.faults[0].code, detail=" → ".join(way.faults[0].chain))
    logical = Counter(_stop_of_visit(visit) for visit in way.logical)
    return Outcome(
        named=way.named,
        hops=tuple(_stop_of_visit(visit) for visit in way.hops),
        logical=_counted(logical),
    )


def _stop_of_visit(visit: Visit) -> Stop:
    return Stop(
        service=visit.service.gcid,
        arguments=visit.arguments,
        invoker=visit.invoker,
        topic=visit.topic,
        rule=visit.rule,
        payer=visit.payer,
        shown_sender=visit.shown_sender,
        isolated=visit.isolated,
        absorbs=visit.absorbs,
        dynamic=visit.dynamic,
        through=visit.through,
    )


def _outcome(copy: Copy, posted: Posted) -> Outcome:
    logical = Counter(_stop_of_hop(hop, posted) for hop in copy.logical)
    return Outcome(
        named=copy.named,
        hops=tuple(_stop_of_hop(hop, posted) for hop in copy.hops),
        logical=_counted(logical),
        code=copy.code,
        detail=copy.detail if copy.code else "",
    )


def _stop_of_hop(hop: Hop, posted: Posted) -> Stop:
    context = hop.context or Context(0)
    return Stop(
        service=hop.service,
        arguments=hop.arguments,
        invoker=hop.invoker,
        topic=context.topic or posted.message.topic,
        rule=context.rule,
        payer=context.payer,
        shown_sender=context.shown_sender,
        isolated=context.isolated,
        absorbs=context.absorbs,
        dynamic=context.dynamic,
        through=context.through,
    )


def _counted(stops: Counter[Stop]) -> tuple[tuple[Stop, int], ...]:
    return tuple(sorted(stops.items(), key=repr))
