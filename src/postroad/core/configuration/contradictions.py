"""What a document contradicts: itself, or the network as it would be once its steps were carried out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from postroad.core.configuration.assets import PLURALS, lacks_schema
from postroad.core.configuration.document import Fault, NetworkDocument, pointer
from postroad.core.configuration.owned_rules import same_rule_names
from postroad.core.configuration.passwords import PASSWORDS_MOST
from postroad.core.configuration.planning import Wanted
from postroad.core.configuration.steps import PlannedStep
from postroad.core.model.asset import AssetKind
from postroad.core.model.directory import Credential, CredentialKind, Organization, Person, Role, Service
from postroad.core.model.party_name import party_name_fault
from postroad.core.model.snapshot import Directory, object_key


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


def wanted_otherwise(wanted: Sequence[Wanted]) -> Iterator[Fault]:
    """Two places that want different things of one object: of a service that one of them renames, or of one key."""
    first: dict[tuple[str, str], Wanted] = {}
    for item in wanted:
        other = first.setdefault(object_key(item.value), item)
        if other.value == item.value:
            continue
        if isinstance(item.value, Service):
            yield Fault(
                item.place, f"is the service that {other.place} renames; apply that first, and then add another"
            )
        elif isinstance(item.value, Credential):
            yield Fault(item.place, f"is the key of {other.place} too; make one for each")


def unfit_names(wanted: Sequence[Wanted], directory: Directory) -> Iterator[Fault]:
    """Names of new organizations and services that could be taken for others."""
    for item in wanted:
        if not isinstance(item.value, Organization | Service):
            continue
        existing = directory.object(*object_key(item.value))
        if (existing is None or existing.name != item.value.name) and (fault := party_name_fault(item.value.name)):
            yield Fault(item.place, f"the name {fault}")


def shared_certificates(wanted: Sequence[Wanted], directory: Directory) -> Iterator[Fault]:
    """New certificates that another service has: who shows one would be taken for either. Whose it is, is not told."""
    proofs = [item for item in wanted if isinstance(item.value, Credential)]
    owners: dict[str, set[str]] = {}
    for credential in (*directory.credentials.values(), *(item.value for item in proofs)):
        if credential.kind is CredentialKind.CERTIFICATE:
            owners.setdefault(credential.secret, set()).add(credential.service)
    for item in proofs:
        is_new = directory.credentials.get(item.value.id) != item.value
        if is_new and len(owners.get(item.value.secret, ())) > 1:
            detail = "this certificate cannot be used; register one that was made for this service"
            yield Fault(item.place + "/certificate", detail)


def too_many_passwords(services: Sequence[Wanted], before: Directory, after: Directory) -> Iterator[Fault]:
    for item in services:
        had, would_have = (_passwords_of(item.value.gcid, directory) for directory in (before, after))
        if would_have > max(had, PASSWORDS_MOST):
            detail = f"a service has at most {PASSWORDS_MOST} passwords; let the others go with --prune, or use keys"
            yield Fault(item.place + "/credentials", detail)


def _passwords_of(gcid: str, directory: Directory) -> int:
    return sum(item.kind is CredentialKind.PASSWORD for item in directory.credentials_of(service=gcid))


def schemaless(services: Sequence[Wanted], after: Directory) -> Iterator[Fault]:
    """Services that would validate by a schema that is not there."""
    for item in services:
        if why := lacks_schema(item.value, after.assets_of(item.value.gcid)):
            yield Fault(item.place + "/validates", why)


def ownerless(document: NetworkDocument, directory: Directory, steps: list[PlannedStep]) -> list[Fault]:
    """Organizations whose people would have no owner among them, or that would lose all of them."""
    people = dict(directory.people)
    for step in steps:
        if step.kind == "person" and step.value is None:
            people.pop(step.key, None)
        elif isinstance(step.value, Person):
            people[step.key] = step.value
    faults = []
    for name in document.organizations:
        members = [person for person in people.values() if person.organization.casefold() == name.casefold()]
        needed = members or directory.people_of(name)
        if needed and not any(person.role is Role.OWNER for person in members):
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
