"""The itinerary: for each recipient the services its copy passes, the recipient last.

Rules: it is a pure function of the message and one snapshot of the directory. A copy is delivered only if its whole
route is valid. An error of one recipient never affects another's copy. Rules are evaluated in this order: the
sender's, those of the services they include, those of an explicit route, each recipient's, and those of the services
these include.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from postroad.core.admission.admit import Admitted
from postroad.core.admission.permission import find_permitted_recipient
from postroad.core.admission.policy import check_policies
from postroad.core.model.directory import Routing
from postroad.core.model.message import Recipient
from postroad.core.model.route import Copy, Hop
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.budget import Budget
from postroad.core.routing.conditions.message_subject import posted_subject
from postroad.core.routing.conditions.subject import Subject
from postroad.core.routing.explain.explanation import ServiceTried
from postroad.core.routing.invocation import Invocation
from postroad.core.routing.layout import Route, check_delivered, lay_out, services_of
from postroad.core.routing.rules.dynamic_routing import apply_dynamic_rules
from postroad.core.routing.rules.evaluation import RuleEvaluation, check_chain, find_provider, has_rules
from postroad.core.routing.rules.isolated_services import isolated_in_trees, isolated_on_route
from postroad.errors import Refused

MAX_CACHED_COPIES = 100_000


class Routed(NamedTuple):
    """One copy per recipient, in header order, and the rules that were tried."""

    copies: tuple[Copy, ...]
    tried: tuple[ServiceTried, ...] = ()


class NoRoute(Refused):
    """Refuses a post that cannot be routed to any recipient; contains the rules that were tried, to explain the refusal."""

    def __init__(self, refusal: Refused, routed: Routed) -> None:
        super().__init__(
            refusal.code,
            refusal.detail,
            pointer=refusal.pointer,
            session=refusal.session,
            retry_after_s=refusal.retry_after_s,
        )
        self.routed = routed


class AttemptedRoute(NamedTuple):
    """A route as far as it could be found, and why the whole post would be refused, if so."""

    copies: tuple[Copy, ...]
    tried: tuple[ServiceTried, ...]
    refusal: Refused | None = None


def itineraries(
    admitted: Admitted, directory: Directory, form: str = "", subject: Callable[[], Subject] | None = None
) -> Routed:
    """Return the copies of a message and their routes; refuses the post if no copy can be routed.

    ``subject`` creates the message that rules read, which other callers may share.
    """
    routed = _straight(admitted, directory) or _ruled(admitted, _elaboration(admitted, directory, form, subject))
    _require_one(routed)
    return routed


class CallRoutes:
    """The itineraries of one caller's posts in one call; equal direct routes are shared."""

    __slots__ = ("_directory", "_straight", "_to")

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._to: tuple[Recipient, ...] = ()
        self._straight: Routed | None = None

    def itineraries(self, admitted: Admitted, form: str, subject: Callable[[], Subject] | None = None) -> Routed:
        message = admitted.message
        if self._straight is not None and message.to == self._to and not message.route:
            return self._straight
        straight = _straight(admitted, self._directory)
        routed = straight or _ruled(admitted, _elaboration(admitted, self._directory, form, subject))
        _require_one(routed)
        self._to, self._straight = message.to, straight
        return routed


def attempt_itineraries(admitted: Admitted, directory: Directory, budget: Budget | None = None) -> AttemptedRoute:
    """Find the routes as far as possible; returns the rules that were tried even if the post would be refused."""
    elaboration = _elaboration(admitted, directory, "", lambda: posted_subject(admitted, directory, "", budget))
    try:
        routed = _ruled(admitted, elaboration)
        _require_one(routed)
    except NoRoute as refusal:
        refusal.__context__ = None  # no context and traceback: they would keep the documents alive
        return AttemptedRoute(*refusal.routed, refusal.with_traceback(None))
    return AttemptedRoute(*routed)


def _require_one(routed: Routed) -> None:
    copies = routed.copies
    for copy in copies:
        if not copy.code:
            return
    raise NoRoute(Refused(copies[0].code, copies[0].detail, pointer="/to/0"), routed)


# --- the usual case: directly from the sender to its recipients, without rules -------------------------------------


def _straight(admitted: Admitted, directory: Directory) -> Routed | None:
    message = admitted.message
    if message.route or (directory.rules and has_rules(admitted.sender, RuleRole.SENDER, directory)):
        return None
    if len(message.to) == 1:
        only = _straight_copy(admitted, message.to[0], directory)
        return None if only is None else Routed((only,))
    copies: list[Copy] = []
    for recipient in message.to:
        copy = _straight_copy(admitted, recipient, directory)
        if copy is None:
            return None
        copies.append(copy)
    return Routed(tuple(copies))


def _straight_copy(admitted: Admitted, recipient: Recipient, directory: Directory) -> Copy | None:
    """Return a copy that no rules affect, cached in the snapshot; None if the recipient has rules."""
    caller = admitted.caller
    key = ("straight copy", admitted.sender.gcid, caller.secure, caller.level, recipient.service)
    copy: Copy | None = directory.cache.get(key, _UNKNOWN)
    if copy is _UNKNOWN:
        copy = _unruled_copy(admitted, recipient, directory)
        if len(directory.cache) < MAX_CACHED_COPIES:
            directory.cache[key] = copy
    if copy is not None and recipient.arguments and not copy.code:
        return Copy(copy.named, (Hop(copy.hops[0].service, recipient.arguments, copy.hops[0].invoker),))
    return copy


_UNKNOWN = Copy("unknown")


def _unruled_copy(admitted: Admitted, recipient: Recipient, directory: Directory) -> Copy | None:
    try:
        service = find_permitted_recipient(admitted.sender, recipient.service, directory)
        if service.logical_only or service.routing is Routing.DYNAMIC:
            return None
        if has_rules(service, RuleRole.RECIPIENT, directory) or find_provider(service, admitted.sender, directory):
            return None
        check_policies(admitted.caller, admitted.sender, (service,))
        return Copy(recipient.service, (Hop(service.gcid, (), admitted.sender.gcid),))
    except Refused as refusal:
        return Copy(recipient.service, (), refusal.code, refusal.detail)


# --- with rules or an explicit route -------------------------------------------------------------------------------


def _elaboration(
    admitted: Admitted, directory: Directory, form: str = "", subject: Callable[[], Subject] | None = None
) -> RuleEvaluation:
    make = subject or (lambda: posted_subject(admitted, directory, form))
    return RuleEvaluation(directory, make, admitted.message.routing)


def _ruled(admitted: Admitted, elaboration: RuleEvaluation) -> Routed:
    """Return the copies by rules and explicit route; tried rules are kept even if the sender's part is not valid."""
    try:
        return _elaborated(admitted, elaboration)
    except Refused as refusal:
        raise NoRoute(refusal, Routed((), tuple(elaboration.tried))) from None


def _elaborated(admitted: Admitted, elaboration: RuleEvaluation) -> Routed:
    sender = Invocation(admitted.sender, RuleRole.SENDER)
    elaboration.elaborate([sender])
    named = [_named(stop, sender, elaboration) for stop in admitted.message.route]
    for one in named:
        elaboration.try_rules(one)
        elaboration.descend(one)
    lay_out([*sender.after, *named])  # an error in the sender's part refuses the post, not each copy
    copies = _copies(admitted, elaboration, sender, [*sender.after, *named])
    return Routed(copies, tuple(elaboration.tried))


def _named(stop: Recipient, sender: Invocation, elaboration: RuleEvaluation) -> Invocation:
    """Return the invocation of a service that the sender named in an explicit route."""
    if not sender.service.may_include_services:
        raise Refused("route.invalid", f"{sender.service.address} may not insert other services into a route")
    service = find_permitted_recipient(sender.service, stop.service, elaboration.directory)
    check_chain(sender, service)
    return elaboration.bring_in(service, sender, stop.arguments)


def _copies(
    admitted: Admitted, elaboration: RuleEvaluation, sender: Invocation, leading: list[Invocation]
) -> tuple[Copy, ...]:
    """Evaluate the rules of every recipient, in header order, then those of included services; then route each copy."""
    refused: dict[int, Refused] = {}
    recipients: dict[int, Invocation] = {}
    for place, recipient in enumerate(admitted.message.to):
        try:
            recipients[place] = _recipient(recipient, sender, elaboration)
            elaboration.try_rules(recipients[place])
        except Refused as refusal:
            refused[place] = refusal
    routes: dict[int, Route] = {}
    for place, node in recipients.items():
        if place in refused:
            continue
        try:
            elaboration.descend(node)
            routes[place] = _route(admitted, elaboration, leading, node)
        except Refused as refusal:
            refused[place] = refusal
    return tuple(
        [_copy(recipient, routes.get(at), refused.get(at)) for at, recipient in enumerate(admitted.message.to)]
    )


def _recipient(recipient: Recipient, sender: Invocation, elaboration: RuleEvaluation) -> Invocation:
    service = find_permitted_recipient(sender.service, recipient.service, elaboration.directory)
    return elaboration.bring_in(service, sender, recipient.arguments, RuleRole.RECIPIENT)


def _route(admitted: Admitted, elaboration: RuleEvaluation, leading: list[Invocation], node: Invocation) -> Route:
    check_delivered(node)
    roots = [*leading, node]
    kept = isolated_in_trees(admitted.sender, roots, elaboration.directory)
    check_policies(admitted.caller, admitted.sender, services_of(roots), kept)
    route = apply_dynamic_rules(lay_out(roots), 0, elaboration, admitted.sender)
    if len(route.hops) + len(route.logical) > len(services_of(roots)):
        # A service that was reached at once has included others; the poster's connection must meet their policies too.
        hops = (*route.hops, *route.logical)
        everyone = tuple([elaboration.directory.services[hop.service] for hop in hops])
        check_policies(
            admitted.caller, admitted.sender, everyone, isolated_on_route(admitted.sender, hops, elaboration.directory)
        )
    return route


def _copy(recipient: Recipient, route: Route | None, refusal: Refused | None) -> Copy:
    if route is None or refusal is not None:
        fault = refusal or Refused("route.invalid", "No route was found")
        return Copy(recipient.service, (), fault.code, fault.detail)
    return Copy(recipient.service, route.hops, logical=route.logical)
