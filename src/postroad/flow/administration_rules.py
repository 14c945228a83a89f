"""The rules of services: added, replaced, moved, switched on and off, removed.

Kept rules: a rule is checked whole before it is saved, and every fault is named; rules keep their order whatever else changes,
and a change of one rule is one entry, those included that had to make room for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from postroad.core.configuration.document import Fault
from postroad.core.configuration.owned_rules import placed
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.rule import Rule, rule_key
from postroad.core.model.snapshot import Directory
from postroad.core.routing.checking import rule_faults
from postroad.errors import Refused
from postroad.flow.administration import Administration, Contradictory, not_found, removing, service_for
from postroad.flow.configure import Change, saving
from postroad.flow.network import Network

RULES_MOST = 1_000
LAST = RULES_MOST  # a place behind all others

Ordered = Callable[[Sequence[Rule], Directory, Service], list[Rule]]


def owned_rules(caller: Caller, directory: Directory, service: str) -> tuple[Rule, ...]:
    """The rules of a service in their order, for those who may look at what belongs to it."""
    return directory.rules_of(service_for(caller, directory, service, Role.VIEWER).gcid)


def rule_named(caller: Caller, directory: Directory, service: str, name: str, least: Role = Role.VIEWER) -> Rule:
    rule = directory.rules.get(rule_key(service_for(caller, directory, service, least).gcid, name))
    if rule is None:
        raise not_found()
    return rule


async def add(administration: Administration, caller: Caller, rule: Rule, position: int) -> Rule:
    """A new rule; ``position`` counts from 0 among the service's rules."""

    def ordered(rules: Sequence[Rule], directory: Directory, owner: Service) -> list[Rule]:
        if rule_key(owner.gcid, rule.name) in directory.rules:
            detail = f"{owner.address} has a rule of this name; choose another, or change that one"
            raise Refused("name.taken", detail, pointer="/name")
        if len(rules) >= RULES_MOST:
            raise Refused("value.invalid", f"A service has at most {RULES_MOST} rules; remove one first")
        return _moved([*rules, rule], rule, position)

    return await _change(administration, caller, rule, ordered, None, "rule made")


async def replace_rule(administration: Administration, caller: Caller, rule: Rule, seen_version: int) -> Rule:
    """Another content for the rule of this name, in the same place."""

    def ordered(rules: Sequence[Rule], directory: Directory, owner: Service) -> list[Rule]:
        return [replace(rule, name=item.name, place=item.place) if _same(item, rule) else item for item in rules]

    return await _change(administration, caller, rule, ordered, seen_version, "rule changed")


async def adjust(
    administration: Administration,
    caller: Caller,
    rule: Rule,
    *,
    enabled: bool | None,
    position: int | None,
    seen_version: int,
) -> Rule:
    """Switch a rule on or off, or give it another position. A rule that has become wrong can always be switched off."""

    def ordered(rules: Sequence[Rule], directory: Directory, owner: Service) -> list[Rule]:
        current = next(item for item in rules if _same(item, rule))
        wanted = current if enabled is None else replace(current, enabled=enabled)
        changed = [wanted if item is current else item for item in rules]
        return changed if position is None else _moved(changed, wanted, position)

    reason = "rule changed"
    return await _change(administration, caller, rule, ordered, seen_version, reason, checked=bool(enabled))


async def remove(administration: Administration, caller: Caller, rule: Rule, seen_version: int) -> None:
    def decide(directory: Directory) -> list[Change]:
        return [removing(rule_named(caller, directory, rule.service, rule.name, Role.DEVELOPER), seen_version)]

    await administration.carry_out(caller.name, decide, "rule removed")


async def _change(
    administration: Administration,
    caller: Caller,
    wanted: Rule,
    ordered: Ordered,
    seen_version: int | None,
    reason: str,
    *,
    checked: bool = True,
) -> Rule:
    """Save what differs between the rules as they are and as they are wanted, in order."""
    key = rule_key(wanted.service, wanted.name)
    if checked:
        await check_elsewhere(administration.network, caller, wanted)

    def decide(directory: Directory) -> list[Change]:
        owner = service_for(caller, directory, wanted.service, Role.DEVELOPER)
        if seen_version is not None and key not in directory.rules:
            raise not_found()
        rules = directory.rules_of(owner.gcid)
        changed = [rule for rule in placed(ordered(rules, directory, owner)) if rule not in rules]
        for rule in changed:
            if checked and _same(rule, wanted):
                check(rule, directory, owner)
        return [saving(rule, seen_version if _same(rule, wanted) else None) for rule in changed]

    directory = await administration.carry_out(caller.name, decide, reason)
    return directory.rules[key]


async def check_elsewhere(network: Network, caller: Caller, rule: Rule) -> None:
    """Check a rule in a thread, so that its patterns are compiled by the time it is saved."""
    directory = network.directory
    owner = service_for(caller, directory, rule.service, Role.DEVELOPER)
    await network.heavy_requests.run(caller.organization or caller.name, lambda: check(rule, directory, owner))


def check(rule: Rule, directory: Directory, owner: Service) -> None:
    """Refuse a rule with everything that is wrong with it."""
    faults = [Fault(*fault) for fault in rule_faults(rule, directory, owner)]
    if faults:
        raise Contradictory("rule.invalid", f"{faults[0].pointer}: {faults[0].detail}", faults)


def _moved(rules: list[Rule], rule: Rule, position: int) -> list[Rule]:
    """The rules in their order with this one at its new position; it takes the next free place there."""
    others = [item for item in rules if item is not rule]
    position = min(max(position, 0), len(others))
    before = others[position - 1].place + 1 if position else 0
    return [*others[:position], replace(rule, place=before), *others[position:]]


def _same(one: Rule, other: Rule) -> bool:
    return rule_key(one.service, one.name) == rule_key(other.service, other.name)
