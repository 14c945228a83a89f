"""Evaluates rules service by service, including those of services that rules add.

Rules: all rules are evaluated under one snapshot of the directory. A service's rules are evaluated once for each time
it is included, in their order. A service can include only services that it may send to. Loops, depth and length are
limited, and a refusal contains the chain of services.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from postroad.core.admission.permission import find_permitted_recipient
from postroad.core.model.directory import Routing, Service, is_same_organization
from postroad.core.model.message import Argument
from postroad.core.model.rule import INCLUDING, ActionKind, Rule, RuleAction, RuleRole, rules_in_order
from postroad.core.model.snapshot import Directory
from postroad.core.routing.conditions.compiled_rule import CompiledRule, compile_rule, compiling_steps
from postroad.core.routing.conditions.message_subject import party_of, view_for_service
from postroad.core.routing.conditions.subject import Subject
from postroad.core.routing.explain.explanation import RuleTried, ServiceTried
from postroad.core.routing.invocation import Invocation
from postroad.core.routing.paths.schema_defaults import default_attributes_of
from postroad.errors import Refused

MAX_DEPTH = 10  # services in a chain of inclusions
MAX_HOPS = 25  # services in a route, including rules-only services

_Tried = tuple[CompiledRule, bool, list[str]]  # the rule, its result, and its actions in words

HIDDEN_CHAIN = "A hidden service makes the route invalid; ask the recipient's owner to check its rules"


def has_rules(service: Service, role: RuleRole, directory: Directory) -> bool:
    """Whether the service has rules for this role; compiles nothing."""
    if not directory.rules:
        return False
    key = ("has rules", service.gcid, role)
    found: bool | None = directory.cache.get(key)
    if found is None:
        found = directory.cache[key] = bool(_enabled_rules(service, role, directory))
    return found


def rules_for(
    service: Service, role: RuleRole, directory: Directory, spend: Callable[[int], None] | None = None
) -> tuple[CompiledRule, ...]:
    """Return the rules of the service for this role, compiled once for each snapshot.

    ``spend`` is called with the cost before they are compiled.
    """
    key = ("rules", service.gcid, role)
    found: tuple[CompiledRule, ...] | None = directory.cache.get(key)
    if found is None:
        rules = _enabled_rules(service, role, directory)
        if spend is not None:
            spend(sum(map(compiling_steps, rules)))
        found = directory.cache[key] = tuple([compile_rule(rule) for rule in rules])
    return found


def _enabled_rules(service: Service, role: RuleRole, directory: Directory) -> list[Rule]:
    return [rule for rule in rules_in_order(directory.rules_of(service.gcid), role) if rule.enabled]


class RuleEvaluation:
    """Evaluates rules for one message on one snapshot; ``tried`` lists them in the order of evaluation."""

    def __init__(self, directory: Directory, subject: Callable[[], Subject], routing: str = "") -> None:
        self.directory = directory
        self.tried: list[ServiceTried] = []
        self._make_subject = subject
        self._subject: Subject | None = None
        self._routing = routing

    def is_dynamic(self, service: Service) -> bool:
        """True if the service's rules are evaluated when the message reaches it."""
        is_mapped = service.gcid in self.directory.provisionings
        return not is_mapped and (self._routing or service.routing) == Routing.DYNAMIC

    def bring_in(
        self,
        service: Service,
        invoker: Invocation,
        arguments: tuple[Argument, ...] = (),
        role: RuleRole = RuleRole.IN_TRANSIT,
    ) -> Invocation:
        """Return an invocation of the service; its rules are deferred if it routes dynamically."""
        one = Invocation(service, role, invoker, arguments)
        one.dynamic = self.is_dynamic(service)
        one.stands_for = find_provider(service, invoker.service, self.directory)
        return one

    def elaborate(self, roots: Iterable[Invocation]) -> None:
        """Evaluate the rules of the roots in order, then those of included services, depth first."""
        roots = list(roots)
        for root in roots:
            self.try_rules(root)
        for root in roots:
            self.descend(root)

    def descend(self, node: Invocation) -> None:
        """Evaluate the rules of every service that the node included, and of those that they included."""
        for child in node.included:
            self.try_rules(child)
            self.descend(child)
        if node.target is not None:
            self.descend(node.target)

    def try_rules(self, node: Invocation) -> None:
        """Evaluate the rules of one service, and of the service it redirects to."""
        if node.dynamic:
            return
        if has_rules(node.service, node.role, self.directory):
            spend = self._posted().budget.spend
            self._try(node, rules_for(node.service, node.role, self.directory, spend))
        if node.stands_for and node.target is None:
            node.target = self._provider(node)
        if node.target is not None:
            self.try_rules(node.target)

    def _try(self, node: Invocation, rules: tuple[CompiledRule, ...]) -> None:
        subject = self._seen_by(node)
        told: list[_Tried] = []
        try:
            for compiled in rules:
                did: list[str] = []
                subject.budget.spend(compiled.steps)
                held = compiled.holds(subject)
                told.append((compiled, held, did))
                if held:
                    self._act(node, compiled, did)
                    if compiled.stops:
                        break
        finally:  # tried rules are reported even if an action makes the route invalid
            self.tried.append(self._record_tried(node, subject, told))

    def _record_tried(self, node: Invocation, subject: Subject, told: list[_Tried]) -> ServiceTried:
        version = self.directory.object_version
        rules = [RuleTried(one.rule.name, version("rule", one.key), held, tuple(did)) for one, held, did in told]
        invoker = node.invoker.service.gcid if node.invoker else ""
        return ServiceTried(
            service=node.service.gcid,
            role=node.role,
            invoker=invoker,
            rules=tuple(rules),
            seen=subject.seen,
            faults=subject.faults,
            isolated_by=node.shown_sender,
        )

    def _posted(self) -> Subject:
        if self._subject is None:
            self._subject = self._make_subject()
        return self._subject

    def _seen_by(self, node: Invocation) -> Subject:
        posted = self._posted()
        return view_for_service(node, posted, self.directory).seen_by(
            node.service.gcid,
            role=node.role,
            topic=node.topic or posted.view.topic,
            arguments=node.arguments,
            invoker=party_of(node.invoker.service) if node.invoker else "",
            default_attributes=default_attributes_of(node.service.gcid, self.directory),
            owner=node.service.organization.casefold(),
        )

    def _act(self, node: Invocation, compiled: CompiledRule, did: list[str]) -> None:
        """Perform a rule's actions, and record the result of each."""
        for action in compiled.rule.then:
            if action.kind in INCLUDING:
                did.append(self._include(node, compiled, action))
            elif action.kind is ActionKind.CHANGE_TOPIC:
                did.append(f"topic {action.topic!r} for the services of this rule")
            else:
                did.append("no further rules of this service are evaluated")

    def _include(self, node: Invocation, compiled: CompiledRule, action: RuleAction) -> str:
        kind = _placement(node, action.kind)
        if kind is ActionKind.REDIRECT and node.target is not None:
            return (
                f"not redirected to {action.service}: an earlier rule has redirected to {node.target.service.address}"
            )
        try:
            one = self._included(node, compiled, action, kind)
        except Refused as refusal:
            isolating = node.service.gcid if action.isolates else node.shown_sender
            raise self._as_sender_may_know(refusal, node, isolating) from None
        if kind is ActionKind.REDIRECT:
            node.target = one
            return f"{one.service.address} replaces {node.service.address}"
        side, word = (node.after, "after") if kind is ActionKind.ADD_SERVICE_AFTER else (node.before, "before")
        side.append(one)
        node.included.append(one)
        return f"{one.service.address} is inserted {word} {node.service.address}"

    def _provider(self, node: Invocation) -> Invocation:
        """Return the provider that takes the place of a mapped service."""
        if not self.directory.is_provisioned(node.service.gcid, node.stands_for):
            raise Refused(
                "recipient.not-provisioned",
                f"{node.service.address} is not connected with its provider; its owner must link the account (provisioning) "
                "first",
            )
        try:
            provider = find_permitted_recipient(node.service, node.stands_for, self.directory)
            check_chain(node, provider)
        except Refused as refusal:
            raise self._as_sender_may_know(refusal, node, node.service.gcid) from None
        one = self.bring_in(provider, node, node.arguments, node.role)
        one.through = (*node.through, node.service.gcid)
        one.isolated, one.shown_sender = True, node.service.gcid
        return one

    def _as_sender_may_know(self, refusal: Refused, node: Invocation, isolating: str) -> Refused:
        """Return the refusal without its chain, if that would name services hidden from the sender."""
        isolator = self.directory.services.get(isolating)
        sender = node.sender.service
        if isolator is None or is_same_organization(isolator.organization, sender.organization):
            return refusal
        return Refused(refusal.code, HIDDEN_CHAIN)

    def _included(self, node: Invocation, compiled: CompiledRule, action: RuleAction, kind: ActionKind) -> Invocation:
        if not node.service.may_include_services:
            raise Refused("route.invalid", f"{node.service.address} may not insert other services into a route")
        service = find_permitted_recipient(node.service, action.service, self.directory)
        check_chain(node, service)
        redirected = kind is ActionKind.REDIRECT
        arguments = (action.arguments or node.arguments) if redirected else action.arguments
        one = self.bring_in(service, node, arguments, node.role if redirected else RuleRole.IN_TRANSIT)
        one.rule = compiled.key
        one.topic = action.topic or compiled.topic
        one.absorbs = action.absorbs
        one.through = (*node.through, node.service.gcid) if redirected else ()
        if action.pays:
            one.payer = node.service.gcid
        if action.isolates:
            one.isolated, one.shown_sender = True, node.service.gcid
        return one


def find_provider(service: Service, invoker: Service, directory: Directory) -> str:
    """Return the GCID of the provider a mapped service represents; empty for messages from that provider."""
    provisioning = directory.provisionings.get(service.gcid)
    return provisioning.provider if provisioning is not None and provisioning.provider != invoker.gcid else ""


def check_chain(node: Invocation, service: Service) -> None:
    """Refuse a service that is already in the chain of inclusions, or that makes the chain too long."""
    chain = node.chain
    if any(one.gcid == service.gcid for one in chain):
        raise Refused("route.loop", f"The route is a loop: {_chain_text((*chain, service))}")
    if len(chain) >= MAX_DEPTH:
        raise Refused(
            "route.too-deep",
            f"Services insert each other {len(chain) + 1} levels deep; at most {MAX_DEPTH} are allowed: "
            f"{_chain_text((*chain, service))}",
        )
    if node.root.size() > MAX_HOPS:  # the root is the sender, which is not a hop, or the recipient, plus the new one
        raise route_too_long(_chain_text((*chain, service)))


def route_too_long(where: str) -> Refused:
    return Refused("route.too-long", f"A route passes at most {MAX_HOPS} services; this one does not end at {where}")


def _placement(node: Invocation, kind: ActionKind) -> ActionKind:
    """Return the side that an action means for a service in this role; Refused if it is not possible."""
    if kind is ActionKind.ADD_SERVICE:
        return ActionKind.ADD_SERVICE_AFTER if node.role is RuleRole.SENDER else ActionKind.ADD_SERVICE_BEFORE
    wrong = (
        (kind is ActionKind.ADD_SERVICE_AFTER and node.role is RuleRole.RECIPIENT)
        or (kind is ActionKind.ADD_SERVICE_BEFORE and node.role is RuleRole.SENDER)
        or (kind is ActionKind.REDIRECT and node.role is RuleRole.SENDER)
    )
    if wrong:
        raise Refused(
            "route.invalid",
            f"A rule of {node.shown_address} asks for {kind.value}, which is not for a {node.role.value}; "
            "give the rule the role it is meant for",
        )
    return kind


def _chain_text(services: tuple[Service, ...]) -> str:
    return " → ".join(service.address for service in services)
