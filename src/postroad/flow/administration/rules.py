"""Rules of services: add, replace, move, enable, disable and remove.

Rules: a rule is checked completely before it is saved, and all errors are reported. Rules keep their order whatever
else changes. A change of one rule is one entry, which includes the rules that had to move.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.sections.rules import assign_places
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.rule import Rule, rule_key
from postroad.core.model.snapshot import Directory
from postroad.core.routing.rules.rule_check import find_rule_errors
from postroad.errors import Refused
from postroad.flow.administration.base import Administration, InvalidChange, build_removal, not_found, require_service
from postroad.flow.network import Network
from postroad.flow.registries.configuration import DirectoryChange, build_save

MAX_RULES = 1_000
LAST = MAX_RULES  # a place behind all others

Ordered = Callable[[Sequence[Rule], Directory, Service], list[Rule]]


def list_owned_rules(caller: Caller, directory: Directory, service: str) -> tuple[Rule, ...]:
    """Return the rules of a service in their order, to callers that may see them."""
    return directory.rules_of(require_service(caller, directory, service, Role.VIEWER).gcid)


def find_rule(caller: Caller, directory: Directory, service: str, name: str, least: Role = Role.VIEWER) -> Rule:
    rule = directory.rules.get(rule_key(require_service(caller, directory, service, least).gcid, name))
    if rule is None:
        raise not_found()
    return rule


async def add(administration: Administration, caller: Caller, rule: Rule, position: int) -> Rule:
    """Add a rule; ``position`` counts from 0 among the service's rules."""

    def ordered(rules: Sequence[Rule], directory: Directory, owner: Service) -> list[Rule]:
        if rule_key(owner.gcid, rule.name) in directory.rules:
            detail = f"{owner.address} has a rule with this name; choose another name, or change that rule"
            raise Refused("name.taken", detail, pointer="/name")
        if len(rules) >= MAX_RULES:
            raise Refused("value.invalid", f"A service has at most {MAX_RULES} rules; remove one first")
        return _moved([*rules, rule], rule, position)

    return await _change(administration, caller, rule, ordered, None, "rule made")


async def replace_rule(administration: Administration, caller: Caller, rule: Rule, seen_version: int) -> Rule:
    """Replace the content of the rule with this name; its position stays."""

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
    """Enable, disable or move a rule; an invalid rule can always be disabled."""

    def ordered(rules: Sequence[Rule], directory: Directory, owner: Service) -> list[Rule]:
        current = next(item for item in rules if _same(item, rule))
        wanted = current if enabled is None else replace(current, enabled=enabled)
        changed = [wanted if item is current else item for item in rules]
        return changed if position is None else _moved(changed, wanted, position)

    reason = "rule changed"
    return await _change(administration, caller, rule, ordered, seen_version, reason, checked=bool(enabled))


async def remove(administration: Administration, caller: Caller, rule: Rule, seen_version: int) -> None:
    def decide(directory: Directory) -> list[DirectoryChange]:
        return [build_removal(find_rule(caller, directory, rule.service, rule.name, Role.DEVELOPER), seen_version)]

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
    """Save what differs between the current rules and the desired ones, in order."""
    key = rule_key(wanted.service, wanted.name)
    if checked:
        await check_in_thread(administration.network, caller, wanted)

    def decide(directory: Directory) -> list[DirectoryChange]:
        owner = require_service(caller, directory, wanted.service, Role.DEVELOPER)
        if seen_version is not None and key not in directory.rules:
            raise not_found()
        rules = directory.rules_of(owner.gcid)
        changed = [rule for rule in assign_places(ordered(rules, directory, owner)) if rule not in rules]
        for rule in changed:
            if checked and _same(rule, wanted):
                check_rule(rule, directory, owner)
        return [build_save(rule, seen_version if _same(rule, wanted) else None) for rule in changed]

    directory = await administration.carry_out(caller.name, decide, reason)
    return directory.rules[key]


async def check_in_thread(network: Network, caller: Caller, rule: Rule) -> None:
    """Check a rule in a thread, so that its patterns are compiled before it is saved."""
    directory = network.directory
    owner = require_service(caller, directory, rule.service, Role.DEVELOPER)
    await network.heavy_requests.run(caller.organization or caller.name, lambda: check_rule(rule, directory, owner))


def check_rule(rule: Rule, directory: Directory, owner: Service) -> None:
    """Refuse a rule with a list of everything that is wrong with it."""
    faults = [DocumentError(*fault) for fault in find_rule_errors(rule, directory, owner)]
    if faults:
        raise InvalidChange("rule.invalid", f"{faults[0].pointer}: {faults[0].detail}", faults)


def _moved(rules: list[Rule], rule: Rule, position: int) -> list[Rule]:
    """Return the rules with this one at its new position."""
    others = [item for item in rules if item is not rule]
    position = min(max(position, 0), len(others))
    before = others[position - 1].place + 1 if position else 0
    return [*others[:position], replace(rule, place=before), *others[position:]]


def _same(one: Rule, other: Rule) -> bool:
    return rule_key(one.service, one.name) == rule_key(other.service, other.name)
