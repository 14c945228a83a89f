"""Compares the routes of one logged message under two directories.

Rules: both sides are computed by the functions that route posts. The journal does not record connections, so both sides
assume the most secure one. Rules of services that route dynamically are evaluated when the transformed message reaches
them. This cannot be replayed; such stops are compared only by their position in the route.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from msgspec.structs import replace

from postroad.core.admission.admit import Admitted, admit
from postroad.core.model.directory import Service
from postroad.core.model.message import Message
from postroad.core.model.route import Copy, Hop
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.explain.explanation import RuleTried, ServiceTried, unpack_tried
from postroad.core.routing.itinerary import attempt_itineraries, itineraries
from postroad.errors import Refused
from postroad.warehouse.bulk.read.logged_posts import LoggedPost
from postroad.warehouse.bulk.routing import safest_caller

IN_HEADER = "header "  # prefix of the key of a header field


class RouteVerdict(StrEnum):
    """The result of a comparison."""

    SAME = "same"
    CHANGED = "changed"
    UNDECIDABLE = "undecidable"  # a rule needs a body that is no longer stored


class RouteDifference(StrEnum):
    """The kind of change of a copy's route."""

    ROUTE = "route"  # other services, or another order
    CIRCUMSTANCES = "circumstances"  # the same services, with other arguments, topics, payers …
    REFUSED = "refused"
    ACCEPTED = "accepted"
    FORWARDED = "forwarded"  # an exchange or a model forwards it to another receiver
    NOT_FORWARDED = "not forwarded"
    CONTENT = "content"  # an exchange transforms it differently


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutingSide:
    """The routing of a message under one directory."""

    copies: tuple[Copy, ...]
    tried: tuple[ServiceTried, ...] = ()
    code: str = ""  # reason if the whole post is refused
    detail: str = ""

    @property
    def looked_into_body(self) -> bool:
        return any(not place.startswith(IN_HEADER) for one in self.tried for place in one.seen)

    def copy(self, place: int, named: str) -> Copy:
        """Return the copy for a recipient; for a refused post, a refused copy."""
        return Copy(named, (), self.code, self.detail) if self.code else self.copies[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyChange:
    """The route of one copy, before and after; services by GCID."""

    copy: int
    named: str
    difference: RouteDifference
    before: Copy
    after: Copy

    @property
    def gained(self) -> tuple[Hop, ...]:
        return extra_stops(self.after.hops, self.before.hops)

    @property
    def lost(self) -> tuple[Hop, ...]:
        return extra_stops(self.before.hops, self.after.hops)


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteComparison:
    verdict: RouteVerdict
    before: RoutingSide
    after: RoutingSide
    changes: tuple[CopyChange, ...] = ()


def compare_routes(logged: LoggedPost, before: RoutingSide, after: RoutingSide) -> RouteComparison:
    if not logged.is_whole and (before.looked_into_body or after.looked_into_body):
        return RouteComparison(verdict=RouteVerdict.UNDECIDABLE, before=before, after=after)
    named = [copy.named for copy in logged.posted.copies]
    found = [_change(place, name, before, after) for place, name in enumerate(named)]
    changes = tuple([change for change in found if change is not None])
    verdict = RouteVerdict.CHANGED if changes else RouteVerdict.SAME
    return RouteComparison(verdict=verdict, before=before, after=after, changes=changes)


def recorded_side(logged: LoggedPost) -> RoutingSide:
    """Return the routing as recorded when the message was posted."""
    posted, body = logged.posted, logged.body
    if posted.explained and body is not None:
        return RoutingSide(copies=posted.copies, tried=unpack_tried(body[-posted.explained :]))
    return RoutingSide(copies=posted.copies, tried=_rules_in(posted.copies) if posted.explained else ())


def _rules_in(copies: tuple[Copy, ...]) -> tuple[ServiceTried, ...]:
    """Return the rules that added services, as far as the routes show: their evaluations were dropped with the body."""
    hops = [hop for copy in copies for hop in (*copy.hops, *copy.logical)]
    keys = dict.fromkeys(hop.context.rule for hop in hops if hop.context is not None and hop.context.rule)
    return tuple([_held(*key.split("/", 1)) for key in keys])


def _held(service: str, name: str) -> ServiceTried:
    return ServiceTried(service, RuleRole.ANY, "", (RuleTried(name, 0, True),), {})


def routed_side(logged: LoggedPost, directory: Directory, message: Message | None = None) -> RoutingSide:
    """Return the routing under this directory; ``message`` is the logged one, if already rebuilt."""
    sender = directory.services.get(logged.posted.sender)
    if sender is None:
        return RoutingSide(copies=(), code="sender.unknown", detail="The sending service does not exist any more")
    try:
        admitted = _admitted(logged, message or logged.message, sender, directory)
    except Refused as refusal:
        return RoutingSide(copies=(), code=refusal.code, detail=refusal.detail)
    try:
        routed = itineraries(admitted, directory, logged.posted.form)
        return RoutingSide(copies=routed.copies, tried=routed.tried)
    except Refused as refusal:
        return RoutingSide(
            copies=(), tried=attempt_itineraries(admitted, directory).tried, code=refusal.code, detail=refusal.detail
        )


def _admitted(logged: LoggedPost, message: Message, sender: Service, directory: Directory) -> Admitted:
    return admit(message, safest_caller(sender), directory, logged.posted.at_us)


def _change(place: int, named: str, before: RoutingSide, after: RoutingSide) -> CopyChange | None:
    one, other = before.copy(place, named), after.copy(place, named)
    difference = difference_of(one, other)
    if difference is None:
        return None
    return CopyChange(copy=place, named=named, difference=difference, before=one, after=other)


def difference_of(before: Copy, after: Copy) -> RouteDifference | None:
    if before.code and after.code:
        return None  # another reason for a refusal is not a change
    if before.code or after.code:
        return RouteDifference.REFUSED if after.code else RouteDifference.ACCEPTED
    if _services(before.hops) != _services(after.hops):
        return RouteDifference.ROUTE
    return RouteDifference.CIRCUMSTANCES if _list_hops(before) != _list_hops(after) else None


def _services(hops: tuple[Hop, ...]) -> list[str]:
    return [hop.service for hop in hops]


def _list_hops(copy: Copy) -> list[Hop]:
    """Return the stops without rule names: renaming a rule changes nothing."""
    return [_without_rule(hop) for hop in (*copy.hops, *copy.logical)]


def _without_rule(hop: Hop) -> Hop:
    if hop.context is None or not hop.context.rule:
        return hop
    return replace(hop, context=replace(hop.context, rule=""))


def extra_stops(hops: tuple[Hop, ...], other: tuple[Hop, ...]) -> tuple[Hop, ...]:
    """Return the stops that a route has in addition to another."""
    left = _services(other)
    found = []
    for hop in hops:
        if hop.service in left:
            left.remove(hop.service)
        else:
            found.append(hop)
    return tuple(found)
