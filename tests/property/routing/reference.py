"""Route calculation, written a second time: from the specification alone, and as plainly as it can be said.

It knows nothing of the product's calculation and shares only the nouns with it. Everything is worked out again for every message,
in three plain steps: a tree of visits grows by trying rules, the tree is read from left to right, and what is read is checked.

It differs from a router in one thing on purpose: it does not stop at the first fault. A part of the route may have several, and
which of them is named is not specified; so all of them are collected, and one of them has to be named. With a single fault
there is no choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy

from msgspec.structs import replace

from postroad.core.model.directory import Accepts, Routing, Service, Visibility
from postroad.core.model.message import Argument, Message, MessageType
from postroad.core.model.rule import INCLUDING, ActionKind, Rule, RuleAction, RuleRole, rule_key
from postroad.core.model.snapshot import Directory
from tests.property.routing.plain_conditions import holds
from tests.property.routing.visits import Fault, Stretch, Tried, Visit, Way, first_hop, read

MAX_CHAIN = 10
MAX_HOPS = 25


class Reference:
    """One message, routed."""

    def __init__(self, message: Message, sender: Service, directory: Directory) -> None:
        self.message, self.sender, self.directory = message, sender, directory
        self.tried: list[Tried] = []
        self.outset = Stretch()
        self.leave()
        self.tried_for_sender = len(self.tried)
        self.ways = self.arrive() if not self.outset.faults else []

    # ---- the sender's part

    def leave(self) -> None:
        """The sender's rules, what they include, and the explicit route."""
        origin = Visit(
            service=self.sender, role=RuleRole.SENDER, chain=(self.sender.gcid,), invoker="", topic=self.topic
        )
        self.try_rules(origin, self.outset)
        self.go_down(origin, self.outset)
        self.outset.visits += [visit for _, visit in origin.included]
        for stop in self.message.route:
            visit = self.bring_in(origin, stop.service, RuleRole.IN_TRANSIT, self.outset)
            if visit is not None:
                visit.arguments = stop.arguments
                self.outset.visits.append(visit)
                self.explore(visit, self.outset)

    # ---- the recipients' parts

    def arrive(self) -> list[Way]:
        stretches = [self.recipient(named.service, named.arguments) for named in self.message.to]
        return [self.way(named.service, stretch) for named, stretch in zip(self.message.to, stretches, strict=True)]

    def recipient(self, named: str, arguments: tuple[Argument, ...]) -> Stretch:
        stretch = Stretch()
        service, fault = accepted(self.sender, named, self.directory)
        if service is None:
            stretch.faults.append(fault)
            return stretch
        visit = Visit(
            service=service,
            role=RuleRole.RECIPIENT,
            chain=(service.gcid,),
            invoker=self.sender.gcid,
            topic=self.topic,
            arguments=arguments,
            dynamic=self.waits(service),
        )
        stretch.visits.append(visit)
        if not visit.dynamic:
            self.try_rules(visit, stretch)
        return stretch

    def way(self, named: str, stretch: Stretch) -> Way:
        """A copy's whole way; a dynamic service that it reaches first is asked at once, by each copy for itself."""
        for visit in stretch.visits:
            self.go_down(visit, stretch)
        ahead = deepcopy(self.outset.visits)
        visits = self.reach((), ahead, stretch)
        self.check_end(stretch)
        if len(visits) > MAX_HOPS:
            stretch.faults.append(Fault(code="route.too-long"))
        return Way(
            named=named,
            visits=tuple(visits),
            faults=tuple(stretch.faults),
            cut=stretch.cut,
            ahead=tuple(ahead),
            stretch=stretch,
        )

    def reach(self, passed: Sequence[Visit], ahead: Sequence[Visit], stretch: Stretch) -> list[Visit]:
        """The visits once the message, which has passed these, has reached the next one: that one's rules are tried."""
        visits = read([*ahead, *stretch.visits])
        while not stretch.faults and (first := first_hop(visits, passed)) is not None and first.dynamic:
            first.dynamic = False
            self.explore(first, stretch)
            visits = read([*ahead, *stretch.visits])
        return visits

    def travel(self, way: Way, changed: Callable[[int], Message]) -> list[Visit]:
        """The visits that a copy comes to when the message changes at every one in transit; the last is the recipient's.

        ``changed`` is the message as the service leaves it that was the first, second … to get it.
        """
        passed: list[Visit] = []
        visits = list(way.visits)
        while (visit := first_hop(visits, passed)) is not None:
            passed.append(visit)
            self.message = changed(len(passed))
            visits = self.reach(passed, way.ahead, way.stretch)
            self.check_end(way.stretch)
            if way.stretch.faults or len(visits) > MAX_HOPS:
                break
        return passed

    def check_end(self, stretch: Stretch) -> None:
        for visit in stretch.visits:
            while visit.target is not None:
                visit = visit.target
            if not visit.redirected and not visit.physical:
                stretch.faults.append(Fault(code="route.invalid"))

    # ---- growing the tree

    def explore(self, visit: Visit, part: Stretch) -> None:
        if not visit.dynamic:
            self.try_rules(visit, part)
            self.go_down(visit, part)

    def go_down(self, visit: Visit, part: Stretch) -> None:
        """Depth first: what a service included, each with all that follows from it; then what its stand-in included."""
        for _, child in visit.included:
            self.explore(child, part)
        if visit.target is not None:
            self.go_down(visit.target, part)

    def seen_by(self, visit: Visit) -> Message:
        """Whoever is isolated in transit gets a request of its own (R12), whatever the message is to others."""
        if visit.shown_sender and visit.role is RuleRole.IN_TRANSIT:
            return replace(self.message, type=MessageType.REQUEST)
        return self.message

    def try_rules(self, visit: Visit, part: Stretch) -> None:
        for rule in self.directory.rules_of(visit.service.gcid):
            if not rule.enabled or rule.role not in (RuleRole.ANY, visit.role):
                continue
            held = holds(rule.when, self.seen_by(visit), visit.topic)
            self.tried.append(Tried(visit.service.gcid, visit.role, rule.name, held))
            if held:
                for action in rule.then:
                    self.act(visit, rule, action, part)
                if any(action.kind is ActionKind.STOP_RULE_EVALUATION for action in rule.then):
                    break
        if visit.target is not None and not visit.target.dynamic:
            self.try_rules(visit.target, part)

    def act(self, visit: Visit, rule: Rule, action: RuleAction, part: Stretch) -> None:
        if action.kind not in INCLUDING:
            return
        if (visit.role, action.kind) in MISPLACED:
            part.faults.append(Fault(code="route.invalid"))
            return
        if action.kind is ActionKind.REDIRECT and visit.redirected:
            return
        redirects = action.kind is ActionKind.REDIRECT
        visit.redirected = visit.redirected or redirects
        role = visit.role if redirects else RuleRole.IN_TRANSIT
        isolating = visit.service.gcid if action.isolates else visit.shown_sender
        child = self.bring_in(visit, action.service, role, part, isolating=isolating)
        if child is None:
            return
        self.equip(child, visit, rule, action)
        if redirects:
            child.through = (*visit.through, visit.service.gcid)
            child.arguments = action.arguments or visit.arguments
            visit.target = child
        else:
            visit.included.append((side(visit.role, action.kind), child))

    def equip(self, child: Visit, by: Visit, rule: Rule, action: RuleAction) -> None:
        """The context in which a rule invokes a service."""
        changed = [other.topic for other in rule.then if other.kind is ActionKind.CHANGE_TOPIC]
        child.topic = action.topic or (changed[0] if changed else self.topic)
        child.arguments = action.arguments
        child.rule = rule_key(by.service.gcid, rule.name)
        child.payer = by.service.gcid if action.pays else by.payer
        child.shown_sender = by.service.gcid if action.isolates else by.shown_sender
        child.isolated = action.isolates
        child.absorbs = action.absorbs

    def bring_in(self, by: Visit, named: str, role: RuleRole, part: Stretch, *, isolating: str = "") -> Visit | None:
        """A visit of the named service, unless something forbids it; ``isolating`` keeps it to itself."""
        part.size += 1
        if part.size > MAX_HOPS:
            part.faults.append(Fault(code="route.too-long"))
            part.cut = True
            return None
        before = len(part.faults)
        if not by.service.may_include_services:
            part.faults.append(Fault(code="route.invalid"))
        service, fault = accepted(by.service, named, self.directory)
        if service is None:
            part.faults.append(fault)
        known = self.directory.service(named)
        if known is not None and known.gcid in by.chain:
            circle = () if self.is_kept_from_sender(isolating) else self.addresses((*by.chain, known.gcid))
            part.faults.append(Fault(code="route.loop", chain=circle))
        if len(by.chain) + 1 > MAX_CHAIN:
            part.faults.append(Fault(code="route.too-deep"))
        if service is None or len(part.faults) > before:
            return None
        return Visit(
            service=service,
            role=role,
            chain=(*by.chain, service.gcid),
            invoker=by.service.gcid,
            topic=self.topic,
            dynamic=self.waits(service),
        )

    # ---- what is asked in many places

    def is_kept_from_sender(self, isolating: str) -> bool:
        """Whether another organization keeps what it includes to itself (R12, Z5): then no circle is spelled out."""
        keeper = self.directory.services.get(isolating)
        return keeper is not None and keeper.organization.casefold() != self.sender.organization.casefold()

    @property
    def topic(self) -> str:
        return self.message.topic

    def waits(self, service: Service) -> bool:
        """Whether the service's rules are tried only when the message reaches it."""
        if self.message.routing:
            return self.message.routing == Routing.DYNAMIC
        return service.routing is Routing.DYNAMIC

    def addresses(self, chain: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self.directory.services[gcid].address for gcid in chain)


MISPLACED = {
    (RuleRole.SENDER, ActionKind.ADD_SERVICE_BEFORE),
    (RuleRole.SENDER, ActionKind.REDIRECT),
    (RuleRole.RECIPIENT, ActionKind.ADD_SERVICE_AFTER),
}


def side(role: RuleRole, kind: ActionKind) -> str:
    if kind is ActionKind.ADD_SERVICE:
        return "after" if role is RuleRole.SENDER else "before"
    return "after" if kind is ActionKind.ADD_SERVICE_AFTER else "before"


def accepted(by: Service, named: str, directory: Directory) -> tuple[Service | None, Fault]:
    """The service that is named, when it takes messages from ``by``; otherwise what is in the way (N3, N5, N11)."""
    service = directory.service(named)
    if service is None:
        return None, Fault(code="recipient.unknown")
    own = service.organization == by.organization
    listed = service.accepts is Accepts.LISTED and bool(
        {by.gcid, by.address, by.organization} & {*service.accepts_from}
    )
    if service.visibility is Visibility.PRIVATE and not own and not listed:
        return None, Fault(code="recipient.unknown")
    if service.accepts is not Accepts.ANYONE and not own and not listed:
        return None, Fault(code="recipient.not-allowed")
    organization = directory.organization(service.organization)
    if service.suspended or (organization is not None and organization.suspended):
        return None, Fault(code="recipient.suspended")
    return service, Fault(code="")
