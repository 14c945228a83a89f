"""Plans and exports the rules of a service.

In a document the order of the list is the order of the rules. Their places are numbers, so that one rule can be moved, added or
removed without touching the others; only when a rule would not follow the one before it does it get a new place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from postroad.core.configuration.change_plan import PlanningContext, WantedObject
from postroad.core.configuration.document import DocumentError, ServiceEntry, pointer
from postroad.core.configuration.entries.rules import rule_entry, rule_of
from postroad.core.model.directory import Service
from postroad.core.model.rule import Rule, rule_key
from postroad.core.model.snapshot import Directory
from postroad.core.routing.rules.rule_check import find_rule_errors


def assign_places(rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules with ascending places; as many as possible keep theirs."""
    found: list[Rule] = []
    least = 0
    for rule in rules:
        found.append(rule if rule.place >= least else replace(rule, place=least))
        least = found[-1].place + 1
    return found


def wanted_rules(service: Service, wish: ServiceEntry, here: str, planning: PlanningContext) -> list[WantedObject]:
    rules = []
    for entry in wish.rules or ():
        existing = planning.directory.rules.get(rule_key(service.gcid, entry.name))
        rule = rule_of(entry, service.gcid, existing.place if existing else 0)
        rules.append(replace(rule, name=existing.name) if existing else rule)
    return [
        WantedObject(here + pointer("rules", number), rule, f"{service.address}: {rule.name}")
        for number, rule in enumerate(assign_places(rules))
    ]


def find_same_rule_names(wish: ServiceEntry, here: str) -> list[DocumentError]:
    """Names that differ only in case name the same rule."""
    seen: set[str] = set()
    faults = []
    for number, entry in enumerate(wish.rules or ()):
        if entry.name.casefold() in seen:
            faults.append(
                DocumentError(here + pointer("rules", number, "name"), "two rules of a service have the same name")
            )
        seen.add(entry.name.casefold())
    return faults


def prunable_rules(service: Service, wish: ServiceEntry | None, directory: Directory) -> Sequence[Rule]:
    """The service's rules where the document lists any; all, where it does not want the service itself."""
    return directory.rules_of(service.gcid) if wish is None or wish.rules is not None else ()


def exported_rules(service: Service, directory: Directory) -> dict[str, Any]:
    rules = [rule_entry(rule) for rule in directory.rules_of(service.gcid)]
    return {"rules": rules} if rules else {}


def new_rule_errors(wanted: WantedObject, before: Directory, after: Directory) -> list[DocumentError]:
    """Return the errors of a rule that the document adds or makes worse.

    An unchanged rule may have been invalid before, because a service that it names was removed. That is not caused by
    this document, so it counts only if the document makes it worse.
    """
    rule: Rule = wanted.value
    service = after.services[rule.service]
    faults = list(find_rule_errors(rule, after, service))
    if before.rules.get(rule_key(rule.service, rule.name)) == rule:
        known = find_rule_errors(rule, before, before.services[rule.service]) if rule.service in before.services else []
        faults = [fault for fault in faults if fault not in known]
    return [DocumentError(wanted.place + fault.pointer, fault.detail) for fault in faults]
