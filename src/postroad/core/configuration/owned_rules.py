"""What a document wants of a service's rules, and the rules as an export writes them.

In a document the order of the list is the order of the rules. Their places are numbers, so that one rule can be moved, added or
removed without touching the others; only when a rule would not follow the one before it does it get a new place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from postroad.core.configuration.document import Fault, ServiceEntry, pointer
from postroad.core.configuration.planning import Planning, Wanted
from postroad.core.configuration.rules import entry_of, rule_of
from postroad.core.model.directory import Service
from postroad.core.model.rule import Rule, rule_key
from postroad.core.model.snapshot import Directory
from postroad.core.routing.checking import rule_faults


def placed(rules: Iterable[Rule]) -> list[Rule]:
    """The rules with places in which each follows the one before it; as many as possible keep theirs."""
    found: list[Rule] = []
    least = 0
    for rule in rules:
        found.append(rule if rule.place >= least else replace(rule, place=least))
        least = found[-1].place + 1
    return found


def wanted_rules(service: Service, wish: ServiceEntry, here: str, planning: Planning) -> list[Wanted]:
    rules = []
    for entry in wish.rules or ():
        existing = planning.directory.rules.get(rule_key(service.gcid, entry.name))
        rule = rule_of(entry, service.gcid, existing.place if existing else 0)
        rules.append(replace(rule, name=existing.name) if existing else rule)
    return [
        Wanted(here + pointer("rules", number), rule, f"{service.address}: {rule.name}")
        for number, rule in enumerate(placed(rules))
    ]


def same_rule_names(wish: ServiceEntry, here: str) -> list[Fault]:
    """Names that differ only in case name the same rule."""
    seen: set[str] = set()
    faults = []
    for number, entry in enumerate(wish.rules or ()):
        if entry.name.casefold() in seen:
            faults.append(Fault(here + pointer("rules", number, "name"), "two rules of a service have the same name"))
        seen.add(entry.name.casefold())
    return faults


def prunable_rules(service: Service, wish: ServiceEntry | None, directory: Directory) -> Sequence[Rule]:
    """The service's rules where the document lists any; all, where it does not want the service itself."""
    return directory.rules_of(service.gcid) if wish is None or wish.rules is not None else ()


def exported_rules(service: Service, directory: Directory) -> dict[str, Any]:
    rules = [entry_of(rule) for rule in directory.rules_of(service.gcid)]
    return {"rules": rules} if rules else {}


def new_faults(wanted: Wanted, before: Directory, after: Directory) -> list[Fault]:
    """What is wrong with a wanted rule in the directory as it will be.

    A rule that stays as it is may have been wrong before, because a service that it names has gone. That is not this document's
    doing, so it counts only where the document makes it worse.
    """
    rule: Rule = wanted.value
    service = after.services[rule.service]
    faults = list(rule_faults(rule, after, service))
    if before.rules.get(rule_key(rule.service, rule.name)) == rule:
        known = rule_faults(rule, before, before.services[rule.service]) if rule.service in before.services else []
        faults = [fault for fault in faults if fault not in known]
    return [Fault(wanted.place + fault.pointer, fault.detail) for fault in faults]
