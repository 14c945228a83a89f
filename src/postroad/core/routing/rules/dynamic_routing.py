"""Dynamic routing: evaluates a service's rules when the message reaches it.

Rule: services added on the way are validated like all others before the next delivery; the completed part of the
route never changes.
"""

from __future__ import annotations

from itertools import takewhile

from postroad.core.admission.policy import check_promises
from postroad.core.model.contexts import Ancestry, context_of
from postroad.core.model.directory import Service
from postroad.core.model.route import Context, Hop
from postroad.core.model.rule import RuleRole
from postroad.core.model.snapshot import Directory
from postroad.core.routing.invocation import Invocation
from postroad.core.routing.layout import Route, check_delivered, lay_out
from postroad.core.routing.rules.evaluation import MAX_HOPS, RuleEvaluation, route_too_long
from postroad.core.routing.rules.isolated_services import isolated_on_route
from postroad.errors import Refused


def apply_dynamic_rules(route: Route, place: int, elaboration: RuleEvaluation, sender: Service) -> Route:
    """Return the route after the rules deferred to the next service were evaluated."""
    while place < len(route.hops):
        context = route.hops[place].context
        if context is None or not context.dynamic:
            return route
        route = _expanded(route, place, elaboration, sender)
    raise Refused("route.invalid", "The route has no recipient left to deliver to")


def _expanded(route: Route, place: int, elaboration: RuleEvaluation, sender: Service) -> Route:
    hop = route.hops[place]
    known = _InvocationChain(route, elaboration.directory, sender)
    node = known.invocation(hop, context_of(hop, place), is_last=place == len(route.hops) - 1)
    elaboration.elaborate([node])
    if node.role is RuleRole.RECIPIENT:
        check_delivered(node)
    laid = lay_out([node], known.numbers, _free_number(route))
    if len(route.hops) + len(route.logical) + len(laid.hops) + len(laid.logical) - 1 > MAX_HOPS:
        raise route_too_long(node.shown_address)
    hops = _inserted(route, place, laid.hops, node.hops_behind())
    logical = (*route.logical, *laid.logical)
    known_services = elaboration.directory.services
    on_the_way = [
        known_services.get(one.service) for one in (*hops, *logical)
    ]  # the services already passed have seen the message too
    kept = isolated_on_route(sender, (*hops, *logical), elaboration.directory)
    check_promises(sender, tuple([service for service in on_the_way if service is not None]), kept)
    return Route(hops, logical)


def _free_number(route: Route) -> int:
    """Return an unused invocation number of this copy."""
    return max(hop.context.id for hop in (*route.hops, *route.logical) if hop.context is not None) + 1


def _inserted(route: Route, place: int, laid: tuple[Hop, ...], after: int) -> tuple[Hop, ...]:
    """Return the reached service with the services it included; the last ``after`` of them follow it.

    Services that it adds after itself come before those that redirecting services had added there, as if they had
    been evaluated together.
    """
    ancestry = Ancestry(route.hops, route.logical)
    redirecting = {context.parent for context in takewhile(lambda one: one.through, ancestry.upwards(place))}
    until = len(laid) - after
    behind = place + 1
    while behind < len(route.hops) and any(context.parent in redirecting for context in ancestry.upwards(behind)):
        behind += 1
    passed, next_ones, last = route.hops[:place], route.hops[place + 1 : behind], route.hops[behind:]
    return (*passed, *laid[:until], *next_ones, *laid[until:], *last)


class _InvocationChain:
    """The invocations above one on the route, rebuilt from their contexts."""

    def __init__(self, route: Route, directory: Directory, sender: Service) -> None:
        self._ancestry = Ancestry(route.hops, route.logical)
        self._directory = directory
        self._sender = Invocation(sender, RuleRole.SENDER)
        # The services that redirected to the recipient in order, and the recipient last.
        self._recipients = [context.id for context in self._ancestry.upwards(len(route.hops) - 1)]
        self.numbers: dict[Invocation, int] = {self._sender: 0}

    def invocation(self, hop: Hop, context: Context, *, is_last: bool) -> Invocation:
        """Return the invocation at this place, ready for its rules to be evaluated."""
        role = RuleRole.RECIPIENT if is_last else RuleRole.IN_TRANSIT
        node = self._made(hop, context, role)
        node.dynamic = False
        return node

    def _made(self, hop: Hop, context: Context, role: RuleRole) -> Invocation:
        service = self._directory.services.get(hop.service)
        if service is None:
            raise Refused("route.invalid", "A service on the route no longer exists")
        above = self._ancestry.hop(context.parent)
        invoker = self._sender
        if above is not None and above.context is not None:
            above_role = role if context.through else RuleRole.IN_TRANSIT
            receives = above.context.id in self._recipients
            invoker = self._made(above, above.context, RuleRole.RECIPIENT if receives else above_role)
        node = Invocation(service, role, invoker, hop.arguments)
        node.starts_chain = context.id == self._recipients[-1]
        node.topic, node.rule, node.payer = context.topic, context.rule, context.payer
        node.shown_sender, node.isolated, node.absorbs = context.shown_sender, context.isolated, context.absorbs
        node.through = context.through
        self.numbers[node] = context.id
        return node
