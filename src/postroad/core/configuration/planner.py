"""Plans a document: additions, changes field by field, and removals when pruning.

Rules: pure, so the shown plan is the applied plan. All errors are found, not only the first. Nothing is removed
unless requested, and pruning is limited to the organizations that the document names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from postroad.core.configuration.change_plan import (
    ChangedField,
    ConfigurationPlan,
    ObjectStep,
    PlanningContext,
    StepAction,
    WantedObject,
)
from postroad.core.configuration.conflicts import (
    find_as2_conflicts,
    find_conflicting_entries,
    find_confusable_names,
    find_duplicate_names,
    find_excess_passwords,
    find_excess_patterns,
    find_missing_schemas,
    find_ownerless_organizations,
    find_shared_certificates,
    find_suspended_removals,
)
from postroad.core.configuration.document import DocumentError, NetworkDocument, OrganizationEntry, pointer
from postroad.core.configuration.object_fields import find_changed_fields, object_name
from postroad.core.configuration.sections.billing import prunable_billing, wanted_billing, with_addresses
from postroad.core.configuration.sections.bindings import (
    binding_places,
    count_errors,
    prunable_bindings,
    queue_name,
    wanted_bindings,
)
from postroad.core.configuration.sections.organization import SECTIONS
from postroad.core.configuration.sections.rules import new_rule_errors
from postroad.core.configuration.sections.subscriptions import (
    find_reader_errors,
    prunable_subscriptions,
    wanted_operator_subscriptions,
)
from postroad.core.configuration.send_port_check import find_new_port_errors
from postroad.core.interchange.standard import BUILT_IN, StandardCatalogue
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Organization, OrganizationLimits, Service
from postroad.core.model.journal import ObjectChange
from postroad.core.model.rule import Rule
from postroad.core.model.snapshot import Directory
from postroad.core.model.subscription import OPERATORS


def make_plan(
    document: NetworkDocument,
    directory: Directory,
    *,
    secrets: Mapping[str, str],
    fresh_ids: Iterator[str],
    now_us: int,
    prune: bool = False,
    may_choose_ids: bool = False,
    asset_faults: Mapping[str, Sequence[DocumentError]] | None = None,
    binding_faults: Mapping[str, Sequence[DocumentError]] | None = None,
    callables: frozenset[str] = frozenset(),
    standards: StandardCatalogue = BUILT_IN,
    proven: frozenset[str] | None = None,
) -> ConfigurationPlan:
    """Return the steps from the directory to the document, and all errors.

    ``secrets`` gives what is stored for each secret in the document (a hash, a fingerprint), by the entry's pointer; where
    a secret is the one already stored, that is the stored value itself, so that it shows no change. ``asset_faults`` says what is
    wrong with assets that had to be compiled to find out, by the asset's pointer; also ``binding_faults``. ``proven`` are the
    entries of certificates whose keys the caller is proven to have; None when no new certificate needs such a proof.
    """
    planning = PlanningContext(
        directory=directory,
        secrets=secrets,
        fresh_ids=fresh_ids,
        now_us=now_us,
        may_choose_ids=may_choose_ids,
        asset_faults=asset_faults or {},
        binding_faults=binding_faults or {},
        proven=proven,
        callables=callables,
    )
    steps: list[ObjectStep] = []
    wanted: list[WantedObject] = []
    for name, entry in document.organizations.items():
        place = pointer("organizations", name)
        found = _wanted(name, entry, place, planning)
        wanted += found
        steps += [step for item in found if (step := _step(item, directory)) is not None]
        if prune:
            removals = _removals(found[0].name, entry, directory, {object_key(item.value) for item in found})
            planning.faults += [] if may_choose_ids else find_suspended_removals(removals, place, directory)
            steps += removals
    steps += _removed(planning.replaced, directory, {(step.kind, step.key) for step in steps})
    steps += _binding_steps(document, steps, planning, prune=prune)
    steps += _billing_steps(document, steps, planning, prune=prune)
    readers = wanted_operator_subscriptions(document, planning)
    steps += _operator_steps(document, readers, directory, prune=prune)
    wanted += readers
    planning.faults += find_duplicate_names(document) + find_ownerless_organizations(document, directory, steps)
    planning.faults += [*find_confusable_names(wanted, directory), *find_conflicting_entries(wanted)]
    unchecked = [] if may_choose_ids else find_excess_patterns(steps)
    planning.faults += unchecked
    if steps and not unchecked:
        planning.faults += _faults_after(
            wanted, directory, directory_after(directory, steps), standards, may_choose_ids
        )
    return ConfigurationPlan(steps=tuple(steps), faults=tuple(planning.faults))


def _wanted(name: str, entry: OrganizationEntry, place: str, planning: PlanningContext) -> list[WantedObject]:
    """The organization, and everything that the document wants in it."""
    existing = planning.directory.organization(name)
    organization = Organization(
        name=existing.name if existing else name,
        description=entry.description,
        posts_per_s=_rate(entry, existing),
        suspended=existing.suspended if existing else "",
        limits=_limits(entry, existing),
    )
    found = [WantedObject(place, organization, organization.name, entry.named_fields())]
    for section in SECTIONS:
        found += section.list_wanted(organization.name, entry, place, planning)
    return found


def _faults_after(
    wanted: list[WantedObject], before: Directory, after: Directory, standards: StandardCatalogue, sees_all: bool
) -> list[DocumentError]:
    """Return what would be wrong after the steps are applied."""
    services = [item for item in wanted if isinstance(item.value, Service)]
    partners = [item for item in services if item.value.as2 is not None]
    return [
        *(fault for item in wanted if isinstance(item.value, Rule) for fault in new_rule_errors(item, before, after)),
        *find_new_port_errors(services, before, after, standards),
        *find_as2_conflicts(partners, after),
        *find_shared_certificates(wanted, before),
        *find_excess_passwords(services, before, after),
        *find_missing_schemas(services, after),
        *find_reader_errors(wanted, before, after, by_operator=sees_all),
    ]


def _step(wanted: WantedObject, directory: Directory) -> ObjectStep | None:
    kind, key = object_key(wanted.value)
    existing = directory.object(kind, key)
    if existing == wanted.value:
        return None
    return ObjectStep(
        action=StepAction.CHANGE if existing is not None else StepAction.ADD,
        kind=kind,
        key=key,
        name=wanted.name,
        seen_version=directory.object_version(kind, key),
        value=wanted.value,
        fields=_with_resets(
            find_changed_fields(existing, wanted.value), wanted.named if existing is not None else None
        ),
    )


def _with_resets(changes: tuple[ChangedField, ...], named: frozenset[str] | None) -> tuple[ChangedField, ...]:
    """Mark the changes that happen only because the document does not set the field."""
    if named is None:
        return changes
    return tuple(replace(item, resets=item.field.partition(".")[0] not in named) for item in changes)


def _rate(entry: OrganizationEntry, existing: Organization | None) -> int:
    """Return the rate limit from the document, or else the existing one."""
    if entry.posts_per_s is not None:
        return entry.posts_per_s
    return existing.posts_per_s if existing else 0


def _limits(entry: OrganizationEntry, existing: Organization | None) -> OrganizationLimits:
    """Return the limits from the document, or else the existing ones."""
    if entry.limits is not None:
        return entry.limits.limits()
    return existing.limits if existing else OrganizationLimits()


def _binding_steps(
    document: NetworkDocument, before: list[ObjectStep], planning: PlanningContext, *, prune: bool
) -> list[ObjectStep]:
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
        planning.faults += count_errors(wanted, directory, directory_after(after, steps), planning)
    return steps


def _with_queues(step: ObjectStep, after: Directory, planning: PlanningContext) -> ObjectStep:
    """The step with its queues as people know them."""
    exchange = after.services[step.key.partition("/")[0]]

    def named(change: ChangedField) -> ChangedField:
        if change.field != "queue":
            return change
        before, new = (queue_name(gcid or "", exchange, after, planning) for gcid in (change.before, change.after))
        return ChangedField(field=change.field, before=before, after=new)

    return replace(step, fields=tuple(map(named, step.fields)))


def _billing_steps(
    document: NetworkDocument, before: list[ObjectStep], planning: PlanningContext, *, prune: bool
) -> list[ObjectStep]:
    """The steps of the section that belongs to no organization; it may name what the others bring."""
    if document.billing is None:
        return []
    directory = planning.directory
    after = directory_after(directory, before)
    wanted = wanted_billing(document.billing, after, planning, prune=prune)
    steps = [with_addresses(step, after) for item in wanted if (step := _step(item, directory)) is not None]
    kept = {object_key(item.value) for item in wanted}
    gone = prunable_billing(document.billing, directory) if prune else ()
    return steps + _removed(gone, directory, kept)


def _operator_steps(
    document: NetworkDocument, wanted: list[WantedObject], directory: Directory, *, prune: bool
) -> list[ObjectStep]:
    """Return the steps for the operators' subscriptions."""
    steps = [step for item in wanted if (step := _step(item, directory)) is not None]
    gone = prunable_subscriptions(OPERATORS, document.notifications, directory) if prune else ()
    return steps + _removed(gone, directory, {object_key(item.value) for item in wanted})


def directory_after(directory: Directory, steps: Iterable[ObjectStep]) -> Directory:
    """The directory as it will be once these steps are carried out."""
    changes = [
        ObjectChange(
            step.kind, step.key, step.seen_version + 1, None if step.value is None else msgspec.to_builtins(step.value)
        )
        for step in steps
    ]
    return directory.apply_changes(changes, directory.version + 1)


def _removals(organization: str, entry: Any, directory: Directory, kept: set[tuple[str, str]]) -> list[ObjectStep]:
    found = [item for section in SECTIONS for item in section.prunable(organization, entry, directory)]
    return _removed(found, directory, kept)


def _removed(found: Iterable[Any], directory: Directory, kept: set[tuple[str, str]]) -> list[ObjectStep]:
    return [
        ObjectStep(action=StepAction.REMOVE, kind=kind, key=key, name=object_name(item, directory), value=None,
                    seen_version=directory.object_version(kind, key))
        for item in found
        for kind, key in [object_key(item)]
        if (kind, key) not in kept
    ]  # fmt: skip
