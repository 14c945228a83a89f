"""The rules of simulated services: some topics pass through a vendor's service."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from postroad.core.model.directory import Service
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
    ValueType,
)

LARGE = 9_000  # totals above this are checked
RULED_SHARE = 0.4


def random_vendor_rules(
    services: Sequence[tuple[Service, Sequence[str]]], in_transit: Sequence[Service], random: Random
) -> list[Rule]:
    """Return a rule for some of the services, each for one of its topics."""
    return [
        _rule(service, random.choice(in_transit), random.choice(topics), random)
        for service, topics in services
        if topics and random.random() < RULED_SHARE
    ]


def _rule(service: Service, brings_in: Service, topic: str, random: Random) -> Rule:
    is_check = brings_in.name == "Check"
    return Rule(
        service=service.gcid,
        name=f"{brings_in.name} {topic}",
        place=1,
        role=RuleRole.SENDER if random.random() < 0.75 else RuleRole.RECIPIENT,
        when=_and_large(_on(topic)) if is_check else _on(topic),
        then=(
            RuleAction(
                kind=ActionKind.ADD_SERVICE,
                service=brings_in.address,
                pays=random.random() < 0.4,
                absorbs=brings_in.name == "Archive",
            ),
        ),
    )


def _on(topic: str) -> ValueComparison:
    return ValueComparison(
        operator=Comparing.EQUALS, place=ValueLocation(where=MessageSection.HEADER, path="topic"), values=(topic,)
    )


def _and_large(on_topic: ValueComparison) -> Condition:
    total = ValueLocation(where=MessageSection.BODY, path="/order/total")
    is_large = ValueComparison(
        operator=Comparing.GREATER_THAN, place=total, type=ValueType.NUMBER, values=(str(LARGE),)
    )
    return Combination(operator=Combining.AND, conditions=(on_topic, is_large))
