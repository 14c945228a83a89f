"""What applying a document would change: additions, changes field by field, and, only when pruning, removals.

Kept rules: pure, so a plan shown is a plan applied; all contradictions are found, not only the first; nothing is removed unless
asked, and pruning never looks beyond the organizations that the document names. A plan's ``version`` covers every step and the
versions of what it touches, so applying it is refused once any of that has moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import msgspec
from pydantic.alias_generators import to_camel

from postroad.core.configuration.as2_names import station_faults
from postroad.core.configuration.assets import PLURALS, asset_summary
from postroad.core.configuration.billing import billing_name, prunable_billing, wanted_billing
from postroad.core.configuration.bindings import binding_entry
from postroad.core.configuration.document import Fault, NetworkDocument, OrganizationEntry, pointer
from postroad.core.configuration.owned_bindings import (
    binding_places,
    number_faults,
    prunable_bindings,
    queue_named,
    wanted_bindings,
)
from postroad.core.configuration.owned_rules import new_faults, same_rule_names
from postroad.core.configuration.planning import Planning, Wanted
from postroad.core.configuration.profile import profile_of
from postroad.core.configuration.rules import entry_of
from postroad.core.configuration.sections import SECTIONS, USUAL, limits_written
from postroad.core.configuration.tariffs import tariff_entry
from postroad.core.model.asset import Asset, AssetKind
from postroad.core.model.billing import Tariff
from postroad.core.model.directory import Credential, Organization, OrganizationLimits, Person, Role, Service
from postroad.core.model.exchange import Binding
from postroad.core.model.journal import ObjectChange
from postroad.core.model.rule import Rule
from postroad.core.model.snapshot import Directory, object_key
from postroad.core.model.trust import RegisteredCookie


class Action(StrEnum):
    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One object that is added, changed or removed; ``value`` None means removed."""

    action: Action
    kind: str
    key: str
    name: str  # as people know it
    seen_version: int
    value: Any | None
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    steps: tuple[PlannedStep, ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def version(self) -> str:
        """Names this very plan: the same as long as the same steps meet the same versions."""
        facts = [(s.action, s.kind, s.name, s.seen_version, [_told(f) for f in s.fields]) for s in self.steps]
        return blake2b(msgspec.json.encode(facts, order="sorted"), digest_size=16).hexdigest()

    def count(self, action: Action) -> int:
        return sum(step.action is action for step in self.steps)


def plan(
    document: NetworkDocument,
    directory: Directory,
    *,
    secrets: Mapping[str, str],
    fresh_ids: Iterator[str],
    now_us: int,
    prune: bool = False,
    may_choose_ids: bool = False,
    asset_faults: Mapping[str, Sequence[Fault]] | None = None,
    binding_faults: Mapping[str, Sequence[Fault]] | None = None,
    callables: frozenset[str] = frozenset(),
) -> Plan:
    """The way from the directory to the document.

    ``secrets`` gives what is stored for each secret in the document (a hash, a fingerprint), by the entry's pointer; where
    a secret is the one already stored, that is the stored value itself, so that it shows no change. ``asset_faults`` says what is
    wrong with assets that had to be compiled to find out, by the asset's pointer; ``binding_faults`` likewise.
    """
    planning = Planning(
        directory=directory,
        secrets=secrets,
        fresh_ids=fresh_ids,
        now_us=now_us,
        may_choose_ids=may_choose_ids,
        asset_faults=asset_faults or {},
        binding_faults=binding_faults or {},
        callables=callables,
    )
    steps: list[PlannedStep] = []
    rules: list[Wanted] = []
    partners: list[Wanted] = []
    for name, entry in document.organizations.items():
        existing = directory.organization(name)
        wanted = Organization(
            name=existing.name if existing else name,
            description=entry.description,
            posts_per_s=_rate(entry, existing),
            suspended=existing.suspended if existing else "",
            limits=_limits(entry, existing),
        )
        place = pointer("organizations", name)
        all_wanted = [Wanted(place, wanted, wanted.name)]
        for section in SECTIONS:
            all_wanted += section.wanted(wanted.name, entry, place, planning)
        rules += [item for item in all_wanted if isinstance(item.value, Rule)]
        partners += [item for item in all_wanted if isinstance(item.value, Service) and item.value.as2 is not None]
        steps += [step for item in all_wanted if (step := _step(item, directory)) is not None]
        if prune:
            kept = {object_key(item.value) for item in all_wanted}
            removals = _removals(wanted.name, entry, directory, kept)
            planning.faults += [] if may_choose_ids else _suspended(removals, place, directory)
            steps += removals
    steps += _binding_steps(document, steps, planning, prune=prune)
    steps += _billing_steps(document, steps, planning, prune=prune)
    planning.faults += _twice(document) + _ownerless(document, directory, steps) + _wrong(rules, directory, steps)
    if partners and steps:
        planning.faults += station_faults(partners, directory_after(directory, steps), sees_all=may_choose_ids)
    return Plan(steps=tuple(steps), faults=tuple(planning.faults))


def _rate(entry: OrganizationEntry, existing: Organization | None) -> int:
    """As the document says, or as it is."""
    if entry.posts_per_s is not None:
        return entry.posts_per_s
    return existing.posts_per_s if existing else 0


def _limits(entry: OrganizationEntry, existing: Organization | None) -> OrganizationLimits:
    """As the document says, or as they are."""
    if entry.limits is not None:
        return entry.limits.limits()
    return existing.limits if existing else OrganizationLimits()


def _binding_steps(
    document: NetworkDocument, before: list[PlannedStep], planning: Planning, *, prune: bool
) -> list[PlannedStep]:
    """The steps for bindings, whose queues any organization in the document may bring."""
    directory = planning.directory
    if not prune and not any(binding_places(document)):
        return []
    after = directory_after(directory, before)
    wanted = wanted_bindings(document, after, planning)
    steps = [_with_queues(step, after, planning) for item in wanted if (step := _step(item, directory)) is not None]
    kept = {object_key(item.value) for item in wanted}
    gone = prunable_bindings(document, directory) if prune else ()
    steps += _removed(gone, directory, kept)
    if steps:
        planning.faults += number_faults(wanted, directory, directory_after(after, steps), planning)
    return steps


def _with_queues(step: PlannedStep, after: Directory, planning: Planning) -> PlannedStep:
    """The step with its queues as people know them."""
    exchange = after.services[step.key.partition("/")[0]]

    def named(change: FieldChange) -> FieldChange:
        if change.field != "queue":
            return change
        before, new = (queue_named(gcid or "", exchange, after, planning) for gcid in (change.before, change.after))
        return FieldChange(field=change.field, before=before, after=new)

    return replace(step, fields=tuple(map(named, step.fields)))


def _billing_steps(
    document: NetworkDocument, before: list[PlannedStep], planning: Planning, *, prune: bool
) -> list[PlannedStep]:
    """The steps of the section that belongs to no organization; it may name what the others bring."""
    if document.billing is None:
        return []
    directory = planning.directory
    wanted = wanted_billing(document.billing, directory_after(directory, before), planning, prune=prune)
    steps = [step for item in wanted if (step := _step(item, directory)) is not None]
    kept = {object_key(item.value) for item in wanted}
    gone = prunable_billing(document.billing, directory) if prune else ()
    return steps + _removed(gone, directory, kept)


def _wrong(rules: list[Wanted], directory: Directory, steps: list[PlannedStep]) -> list[Fault]:
    """What would be wrong with the document's rules once the steps were carried out."""
    if not rules or not steps:
        return []
    after = directory_after(directory, steps)
    return [fault for item in rules for fault in new_faults(item, directory, after)]


def directory_after(directory: Directory, steps: Iterable[PlannedStep]) -> Directory:
    """The directory as it will be once these steps are carried out."""
    changes = [
        ObjectChange(
            step.kind, step.key, step.seen_version + 1, None if step.value is None else msgspec.to_builtins(step.value)
        )
        for step in steps
    ]
    return directory.changed(changes, directory.version + 1)


def _removals(organization: str, entry: Any, directory: Directory, kept: set[tuple[str, str]]) -> list[PlannedStep]:
    found = [item for section in SECTIONS for item in section.prunable(organization, entry, directory)]
    return _removed(found, directory, kept)


def _removed(found: Iterable[Any], directory: Directory, kept: set[tuple[str, str]]) -> list[PlannedStep]:
    return [
        PlannedStep(action=Action.REMOVE, kind=kind, key=key, name=name_of(item, directory), value=None,
                    seen_version=directory.object_version(kind, key))
        for item in found
        for kind, key in [object_key(item)]
        if (kind, key) not in kept
    ]  # fmt: skip


def _suspended(removals: list[PlannedStep], place: str, directory: Directory) -> list[Fault]:
    """Suspended services stay until operators remove them; made anew, they would be in good standing."""
    gone = [directory.services[step.key] for step in removals if step.kind == "service"]
    return [
        Fault(place + pointer("services", service.name), "is suspended; the network's operators end that, or remove it")
        for service in gone
        if service.suspended
    ]


def _step(wanted: Wanted, directory: Directory) -> PlannedStep | None:
    kind, key = object_key(wanted.value)
    existing = directory.object(kind, key)
    if existing == wanted.value:
        return None
    return PlannedStep(
        action=Action.CHANGE if existing is not None else Action.ADD,
        kind=kind,
        key=key,
        name=wanted.name,
        seen_version=directory.object_version(kind, key),
        value=wanted.value,
        fields=_differences(existing, wanted.value),
    )


def _differences(before: Any | None, after: Any) -> tuple[FieldChange, ...]:
    """What differs, field by field, under the names that people write. A secret is only said to be new."""
    old, new = written(before) if before is not None else _usual(after), written(after)
    changes = []
    for name, value in new.items():
        if name == "secret" and old.get(name) != value:
            changes.append(FieldChange(field=name, before="", after="(new secret)"))
        elif name not in IDENTITY and old.get(name) != value:
            changes.append(FieldChange(field=name, before=old.get(name), after=value))
    return tuple(changes)


IDENTITY = frozenset({"gcid", "id", "createdAtUs", "startsAtUs", "expiresAtUs", "service", "person", "organization"})
USUAL_RULE = {"role": "any", "enabled": True, "description": ""}
USUAL_BINDING = {
    "queue": "", "query": "", "script": "", "routing": "", "routingKey": "", "description": "", "enabled": True
}  # fmt: skip
UNITS = {"postsPerS": "postsPerSecond"}


def written(value: Any) -> dict[str, Any]:
    """A configuration object as people write it."""
    if isinstance(value, Service):
        return {"name": value.name, **profile_of(value)}
    if isinstance(value, Rule):
        return {"place": value.place} | USUAL_RULE | entry_of(value)
    if isinstance(value, Asset):
        return asset_summary(value)
    if isinstance(value, RegisteredCookie):
        return {"contentType": value.content_type, "secret": value.content}
    if isinstance(value, Binding):
        return USUAL_BINDING | binding_entry(value, value.queue)
    if isinstance(value, Tariff):
        return {"name": value.name, **tariff_entry(value)}
    camel = {to_camel(name): field for name, field in msgspec.to_builtins(value).items()}
    if isinstance(value, Organization):
        camel["limits"] = limits_written(value.limits)
    return {UNITS.get(name, name): field for name, field in camel.items()}


def _usual(value: Any) -> dict[str, Any]:
    """What need not be said of something new."""
    if isinstance(value, Service):
        return {"name": value.name, **USUAL}
    if isinstance(value, Rule):
        return {"place": value.place} | USUAL_RULE
    if isinstance(value, Binding):
        return USUAL_BINDING
    return {name: field for name, field in written(value).items() if field in ("", 0, False, {})}


def _told(change: FieldChange) -> tuple[str, Any, Any]:
    return change.field, change.before, change.after


def name_of(item: Any, directory: Directory) -> str:
    """How people know a configuration object."""
    match item:
        case Organization():
            return item.name
        case Person():
            return item.email
        case Service():
            return item.address
        case Credential():
            service = directory.services.get(item.service)
            return f"{service.address if service else item.person}: {item.label or item.id}"
        case Rule():
            return f"{directory.services[item.service].address}: {item.name}"
        case Asset():
            return f"{directory.services[item.service].address}: {item.kind.value} {item.name}"
        case RegisteredCookie():  # by its GCID: whoever is private to others stays so
            return f"{directory.services[item.service].address}: cookie for {item.sender}"
        case Binding():
            return f"{directory.services[item.exchange].address}: {item.name}"
        case Tariff():
            return billing_name(item)
    raise TypeError(f"{type(item).__name__} is not a configuration object")


def _twice(document: NetworkDocument) -> list[Fault]:
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


def _ownerless(document: NetworkDocument, directory: Directory, steps: list[PlannedStep]) -> list[Fault]:
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
