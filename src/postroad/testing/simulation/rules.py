"""Random services and rules. Most are valid; some create loops."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from postroad.core.model import ids
from postroad.core.model.directory import Routing, Service, Visibility
from postroad.core.model.rule import (
    ActionKind,
    Combination,
    Combining,
    Comparing,
    Condition,
    MessageSection,
    Rule,
    RuleAction,
    RuleRole,
    ValueComparison,
    ValueLocation,
)

DEFAULT_EXPIRATIONS_S = (600, 3600, 43_200, 86_400)
FITTING = {  # actions allowed in each role; all roles may add services
    RuleRole.SENDER: (ActionKind.ADD_SERVICE, ActionKind.ADD_SERVICE_AFTER),
    RuleRole.RECIPIENT: (ActionKind.ADD_SERVICE, ActionKind.ADD_SERVICE_BEFORE, ActionKind.REDIRECT),
    RuleRole.IN_TRANSIT: (ActionKind.ADD_SERVICE, ActionKind.ADD_SERVICE_BEFORE, ActionKind.ADD_SERVICE_AFTER),
    RuleRole.ANY: (ActionKind.ADD_SERVICE,),
}


def random_service(place: int, chance: Random) -> Service:
    return Service(
        gcid=ids.gcid(chance.randbytes(8)),
        organization=f"Company {place % 3}",
        name=f"Service {place}",
        visibility=Visibility.PUBLIC,
        default_expiration_s=chance.choice(DEFAULT_EXPIRATIONS_S),
        routing=chance.choice((Routing.STATIC, Routing.STATIC, Routing.DYNAMIC)),
        returns=chance.random() < 0.2,
        logical_only=chance.random() < 0.1,
    )


def random_rules(services: Sequence[Service], chance: Random) -> list[Rule]:
    """Return up to two rules for each service; a service without delivery redirects its messages to another."""
    stand_ins = [
        _redirecting(services[owner], services[(owner + 1) % len(services)])
        for owner in range(len(services))
        if services[owner].logical_only
    ]
    return stand_ins + [
        _random_rule(services, owner, number, chance)
        for owner in range(len(services))
        for number in range(chance.choice((0, 0, 1, 2)))
    ]


def _redirecting(service: Service, target: Service) -> Rule:
    always = ValueComparison(operator=Comparing.EXISTS, place=ValueLocation(where=MessageSection.HEADER, path="type"))
    redirect = RuleAction(kind=ActionKind.REDIRECT, service=target.gcid)
    return Rule(service=service.gcid, name="redirect", place=-1, role=RuleRole.RECIPIENT, when=always, then=(redirect,))


def _random_rule(services: Sequence[Service], owner: int, number: int, chance: Random) -> Rule:
    role = chance.choice(list(FITTING))
    actions = [_random_action(services, owner, role, chance)]
    if chance.random() < 0.2:
        actions.append(RuleAction(kind=ActionKind.CHANGE_TOPIC, topic="changed"))
    if chance.random() < 0.2:
        actions.append(RuleAction(kind=ActionKind.STOP_RULE_EVALUATION))
    return Rule(
        service=services[owner].gcid,
        name=f"rule {number}",
        place=number,
        role=role,
        when=_random_condition(chance),
        then=tuple(actions),
    )


def _random_action(services: Sequence[Service], owner: int, role: RuleRole, chance: Random) -> RuleAction:
    """Return an action; services mostly add later services of the list, so that few routes are loops."""
    later = services[owner + 1 :]
    candidates = later if later and chance.random() < 0.9 else services
    return RuleAction(
        kind=chance.choice(FITTING[role]),
        service=chance.choice(candidates).gcid,
        topic=chance.choice(("", "", "special")),
        pays=chance.random() < 0.2,
        isolates=chance.random() < 0.2,
        absorbs=chance.random() < 0.3,
    )


def _random_condition(chance: Random) -> Condition:
    topic = ValueLocation(where=MessageSection.HEADER, path="topic")
    orders = ValueComparison(operator=Comparing.EQUALS, place=topic, values=("orders",))
    kind = ValueComparison(
        operator=Comparing.EQUALS, place=ValueLocation(where=MessageSection.HEADER, path="type"), values=("request",)
    )
    conditions: tuple[Condition, ...] = (
        orders,
        kind,
        ValueComparison(operator=Comparing.EXISTS, place=topic),
        Combination(operator=Combining.NOT, conditions=(orders,)),
        Combination(operator=Combining.XOR, conditions=(orders, kind)),
    )
    return chance.choice(conditions)
