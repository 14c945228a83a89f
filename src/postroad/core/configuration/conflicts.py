"""Finds conflicts in a document: with itself, or with the network after its steps are applied.

AS2 identities: an organization has each pair of AS2 names once. Other organizations do not matter; each has its own
address, and their pairs stay undisclosed.

New patterns: a document of members has a limit on them, since compiling a pattern takes some milliseconds in which
nothing else runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from postroad.core.configuration.change_plan import ObjectStep, WantedObject
from postroad.core.configuration.document import DocumentError, NetworkDocument, pointer
from postroad.core.configuration.entries.assets import PLURALS, missing_schema_reason
from postroad.core.configuration.passwords import MAX_PASSWORDS
from postroad.core.configuration.sections.rules import find_same_rule_names
from postroad.core.model.asset import AssetKind
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import (
    Credential,
    CredentialKind,
    Organization,
    Person,
    Role,
    Service,
    is_same_organization,
)
from postroad.core.model.party_name import party_name_fault
from postroad.core.model.rule import Combination, Comparing, Condition, Rule
from postroad.core.model.snapshot import Directory


def find_duplicate_names(document: NetworkDocument) -> list[DocumentError]:
    """Find names that differ only in case."""
    faults = _find_same_names(document.organizations, "organizations")
    for name, entry in document.organizations.items():
        faults += _find_same_names(entry.people, "organizations", name, "people")
        faults += _find_same_names(entry.services, "organizations", name, "services")
        for service, wish in entry.services.items():
            faults += find_same_rule_names(wish, pointer("organizations", name, "services", service))
            faults += _find_same_names(wish.bindings or {}, "organizations", name, "services", service, "bindings")
            for kind in AssetKind:
                place = ("organizations", name, "services", service, PLURALS[kind])
                faults += _find_same_names(wish.assets(kind) or {}, *place)
    named = [
        entry.gcid
        for organization in document.organizations.values()
        for entry in organization.services.values()
        if entry.gcid
    ]
    if len(set(named)) != len(named):
        faults.append(DocumentError("/organizations", "two services have the same GCID; omit it for the new one"))
    return faults


def _find_same_names(names: Mapping[str, Any], *place: str) -> list[DocumentError]:
    seen: set[str] = set()
    faults = []
    for name in names:
        if name.casefold() in seen:
            faults.append(
                DocumentError(pointer(*place, name), "is named twice; names that differ only in case are the same")
            )
        seen.add(name.casefold())
    return faults


def find_conflicting_entries(wanted: Sequence[WantedObject]) -> Iterator[DocumentError]:
    """Find objects for which two parts of the document ask for different things."""
    first: dict[tuple[str, str], WantedObject] = {}
    for item in wanted:
        other = first.setdefault(object_key(item.value), item)
        if other.value == item.value:
            continue
        if isinstance(item.value, Service):
            yield DocumentError(
                item.place, f"is the service that {other.place} renames; apply that first, and then add another"
            )
        elif isinstance(item.value, Credential):
            yield DocumentError(item.place, f"is also the key of {other.place}; create one for each")


def find_confusable_names(wanted: Sequence[WantedObject], directory: Directory) -> Iterator[DocumentError]:
    """Find names of new organizations and services that could be confused with existing ones."""
    for item in wanted:
        if not isinstance(item.value, Organization | Service):
            continue
        existing = directory.object(*object_key(item.value))
        if (existing is None or existing.name != item.value.name) and (fault := party_name_fault(item.value.name)):
            yield DocumentError(item.place, f"the name {fault}")


def find_shared_certificates(wanted: Sequence[WantedObject], directory: Directory) -> Iterator[DocumentError]:
    """Find new certificates that another service already has, without naming that service."""
    proofs = [item for item in wanted if isinstance(item.value, Credential)]
    owners: dict[str, set[str]] = {}
    for credential in (*directory.credentials.values(), *(item.value for item in proofs)):
        if credential.kind is CredentialKind.CERTIFICATE:
            owners.setdefault(credential.secret, set()).add(credential.service)
    for item in proofs:
        is_new = directory.credentials.get(item.value.id) != item.value
        if is_new and len(owners.get(item.value.secret, ())) > 1:
            detail = "this certificate cannot be used; register one that was made for this service"
            yield DocumentError(item.place + "/certificate", detail)


def find_excess_passwords(
    services: Sequence[WantedObject], before: Directory, after: Directory
) -> Iterator[DocumentError]:
    for item in services:
        had, would_have = (_passwords_of(item.value.gcid, directory) for directory in (before, after))
        if would_have > max(had, MAX_PASSWORDS):
            detail = f"a service has at most {MAX_PASSWORDS} passwords; remove the others with --prune, or use keys"
            yield DocumentError(item.place + "/credentials", detail)


def _passwords_of(gcid: str, directory: Directory) -> int:
    return sum(item.kind is CredentialKind.PASSWORD for item in directory.credentials_of(service=gcid))


def find_missing_schemas(services: Sequence[WantedObject], after: Directory) -> Iterator[DocumentError]:
    """Find services that would validate by a missing schema."""
    for item in services:
        if why := missing_schema_reason(item.value, after.assets_of(item.value.gcid)):
            yield DocumentError(item.place + "/validates", why)


def find_ownerless_organizations(
    document: NetworkDocument, directory: Directory, steps: list[ObjectStep]
) -> list[DocumentError]:
    """Find organizations that would have people but no owner."""
    people = dict(directory.people)
    for step in steps:
        if step.kind == "person" and step.value is None:
            people.pop(step.key, None)
        elif isinstance(step.value, Person):
            people[step.key] = step.value
    faults = []
    for name in document.organizations:
        members = [person for person in people.values() if is_same_organization(person.organization, name)]
        needed = members or directory.people_of(name)
        if needed and not any(person.role is Role.OWNER for person in members):
            faults.append(
                DocumentError(pointer("organizations", name, "people"), "needs at least one person with the role owner")
            )
    return faults


def find_suspended_removals(removals: list[ObjectStep], place: str, directory: Directory) -> list[DocumentError]:
    """Find removals of suspended services, which only operators may remove."""
    gone = [directory.services[step.key] for step in removals if step.kind == "service"]
    return [
        DocumentError(
            place + pointer("services", service.name),
            "is suspended; only the network's operators can end the suspension, or remove it",
        )
        for service in gone
        if service.suspended
    ]


def find_same_as2_identity(service: Service, directory: Directory) -> Service | None:
    """Return another service of the organization with the same pair of AS2 names, or None."""
    if service.as2 is None:
        return None
    others = [other for other in directory.services_of(service.organization) if other.gcid != service.gcid]
    return next(
        (other for other in others if other.as2 and other.as2.identity_names == service.as2.identity_names), None
    )


def taken_identity_text(other: Service) -> str:
    """Return the error text for AS2 names that another service has."""
    return f"{other.address} already has this partner with this ownName; use another ownName for this partner"


def find_as2_conflicts(partners: Iterable[WantedObject], after: Directory) -> list[DocumentError]:
    """Return the errors for pairs of AS2 names that would occur twice."""
    found = []
    for item in partners:
        other = find_same_as2_identity(item.value, after)
        if other is not None:
            found.append(DocumentError(f"{item.place}/as2/name", taken_identity_text(other)))
    return found


MAX_PATTERNS = 1_000


def find_excess_patterns(steps: Iterable[ObjectStep]) -> list[DocumentError]:
    """Return an error if added or changed rules and batchers have too many different patterns."""
    patterns = {pattern for step in steps for condition in _conditions(step) for pattern in _patterns(condition)}
    if len(patterns) <= MAX_PATTERNS:
        return []
    detail = f"it adds or changes {len(patterns)} patterns; at most {MAX_PATTERNS} are allowed; apply it in parts"
    return [DocumentError(pointer("organizations"), detail)]


def _conditions(step: ObjectStep) -> Iterator[Condition]:
    if isinstance(step.value, Rule):
        yield step.value.when
    elif isinstance(step.value, Service) and step.value.batching is not None:
        policy = step.value.batching.policy
        yield from [condition for condition in (policy.takes, policy.last) if condition is not None]


def _patterns(condition: Condition) -> Iterator[str]:
    """Those of a condition; walks without recursion, since it may still be nested too deep."""
    waiting = [condition]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Combination):
            waiting += one.conditions
        elif one.operator is Comparing.MATCHES:
            yield from one.values
