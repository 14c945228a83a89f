"""What a document contradicts: itself, or the network as it would be once its steps were carried out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from postroad.core.configuration.assets import PLURALS
from postroad.core.configuration.document import Fault, NetworkDocument, pointer
from postroad.core.configuration.owned_rules import same_rule_names
from postroad.core.configuration.steps import PlannedStep
from postroad.core.model.asset import AssetKind
from postroad.core.model.directory import Person, Role
from postroad.core.model.snapshot import Directory


def named_twice(document: NetworkDocument) -> list[Fault]:
    """Names that differ only in case name the same thing."""
    faults = _same_names(document.organizations, "organizations")
    for name, entry in document.organizations.items():
        faults += _same_names(entry.people, "organizations", name, "people")
        faults += _same_names(entry.services, "organizations", name, "services")
        for service, wish in entry.services.items():
            faults += same_rule_names(wish, pointer("organizations", name, "services", service))
            faults += _same_names(wish.bindings or {}, "organizations", name, "services", service, "bindings")
            for kind in AssetKind:
                place = ("organizations", name, "services", service, PLURALS[kind])
                faults += _same_names(wish.assets(kind) or {}, *place)
    named = [entry.gcid for house in document.organizations.values() for entry in house.services.values() if entry.gcid]
    if len(set(named)) != len(named):
        faults.append(Fault("/organizations", "two services have the same GCID; leave it out for the new one"))
    return faults


def _same_names(names: Mapping[str, Any], *place: str) -> list[Fault]:
    seen: set[str] = set()
    faults = []
    for name in names:
        if name.casefold() in seen:
            faults.append(Fault(pointer(*place, name), "is named twice; names that differ only in case are the same"))
        seen.add(name.casefold())
    return faults


def ownerless(document: NetworkDocument, directory: Directory, steps: list[PlannedStep]) -> list[Fault]:
    """Organizations whose people would have no owner among them."""
    people = dict(directory.people)
    for step in steps:
        if step.kind == "person" and step.value is None:
            people.pop(step.key, None)
        elif isinstance(step.value, Person):
            people[step.key] = step.value
    faults = []
    for name in document.organizations:
        members = [person for person in people.values() if person.organization.casefold() == name.casefold()]
        if members and not any(person.role is Role.OWNER for person in members):
            faults.append(
                Fault(pointer("organizations", name, "people"), "needs at least one person with the role owner")
            )
    return faults


def suspended_services(removals: list[PlannedStep], place: str, directory: Directory) -> list[Fault]:
    """Suspended services stay until operators remove them; made anew, they would be in good standing."""
    gone = [directory.services[step.key] for step in removals if step.kind == "service"]
    return [
        Fault(place + pointer("services", service.name), "is suspended; the network's operators end that, or remove it")
        for service in gone
        if service.suspended
    ]
