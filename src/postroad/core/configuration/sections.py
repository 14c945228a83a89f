"""The sections below an organization in a document: one object per kind of thing, each with the same three questions.

A later kind (rules, bindings, models, batch policies, prices) becomes one more class here and one more field of
``OrganizationEntry``; planning, applying, exporting and the schema follow from that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple, Protocol

from postroad.core.configuration import certificates
from postroad.core.configuration.document import (
    CredentialEntry,
    Fault,
    OrganizationEntry,
    ServiceEntry,
    pointer,
)
from postroad.core.configuration.profile import ServiceProfile, profile_of
from postroad.core.model.directory import Credential, Person, Role, Service
from postroad.core.model.snapshot import Directory

USUAL = profile_of(ServiceProfile().service(gcid="", organization="", name=""))


class Wanted(NamedTuple):
    """An object as the document wants it, with its place there and its name among people."""

    place: str
    value: Any
    name: str


@dataclass(slots=True, kw_only=True)
class Planning:
    """What sections need to know, and the faults that they find."""

    directory: Directory
    secrets: Mapping[str, str]
    fresh_ids: Iterator[str]
    now_us: int
    may_choose_ids: bool
    faults: list[Fault] = field(default_factory=list)

    def fault(self, place: str, detail: str) -> None:
        self.faults.append(Fault(place, detail))


class Section(Protocol):
    name: str

    def wanted(self, organization: str, entry: OrganizationEntry, place: str, planning: Planning) -> list[Wanted]:
        """The objects that the document asks for."""
        ...

    def prunable(self, organization: str, entry: OrganizationEntry, directory: Directory) -> list[Any]:
        """The objects that exist now and that pruning removes when the document does not ask for them."""
        ...

    def exported(self, organization: str, directory: Directory) -> dict[str, Any]:
        """The section as a document would have it to change nothing."""
        ...


class People:
    name = "people"

    def wanted(self, organization: str, entry: OrganizationEntry, place: str, planning: Planning) -> list[Wanted]:
        found = []
        for email, person in entry.people.items():
            existing = planning.directory.person(email)
            here = place + pointer("people", email)
            if existing and (existing.operator or existing.organization.casefold() != organization.casefold()):
                planning.fault(here, "this address belongs to an account outside this organization")
                continue
            known = existing.email if existing else email
            value = Person(email=known, name=person.name, organization=organization, role=Role(person.role))
            found.append(Wanted(here, value, known))
        return found

    def prunable(self, organization: str, entry: OrganizationEntry, directory: Directory) -> list[Any]:
        people = [person for person in directory.people_of(organization) if not person.operator]
        listed = {email.casefold() for email in entry.people}
        gone = [person for person in people if person.email.casefold() not in listed]
        return people + [key for person in gone for key in directory.credentials_of(person=person.email)]

    def exported(self, organization: str, directory: Directory) -> dict[str, Any]:
        people = sorted(directory.people_of(organization), key=lambda person: person.email)
        return {
            person.email: _without_empty({"name": person.name, "role": person.role.value})
            for person in people
            if not person.operator
        }


class Services:
    name = "services"

    def wanted(self, organization: str, entry: OrganizationEntry, place: str, planning: Planning) -> list[Wanted]:
        found = []
        for name, wish in entry.services.items():
            here = place + pointer("services", name)
            service = self._service(organization, name, wish, here, planning)
            if service is not None:
                found.append(Wanted(here, service, service.address))
                found += _credentials(service, wish, here, planning)
        return found

    def _service(
        self, organization: str, name: str, wish: ServiceEntry, here: str, planning: Planning
    ) -> Service | None:
        directory = planning.directory
        existing = directory.service(f"{organization}/{name}")
        if wish.gcid is not None and (existing is None or existing.gcid != wish.gcid):
            other = directory.services.get(wish.gcid)
            moved = other is not None and other.organization.casefold() == organization.casefold() and existing is None
            if not moved and (other is not None or existing is not None or not planning.may_choose_ids):
                planning.fault(here + "/gcid", "the network draws GCIDs itself; leave it out, or give the one it has")
                return None
            existing = other
        return wish.service(
            gcid=existing.gcid if existing else wish.gcid or next(planning.fresh_ids),
            organization=existing.organization if existing else organization,
            name=name if existing is None or existing.name.casefold() != name.casefold() else existing.name,
            suspended=existing.suspended if existing else "",
        )

    def prunable(self, organization: str, entry: OrganizationEntry, directory: Directory) -> list[Any]:
        found: list[Any] = []
        wishes = {name.casefold(): wish for name, wish in entry.services.items()}
        moved = {wish.gcid for wish in entry.services.values()}
        for service in directory.services_of(organization):
            found.append(service)
            wish = wishes.get(service.name.casefold())
            if (wish is None and service.gcid not in moved) or (wish is not None and wish.credentials is not None):
                found += directory.credentials_of(service=service.gcid)
        return found

    def exported(self, organization: str, directory: Directory) -> dict[str, Any]:
        services = sorted(directory.services_of(organization), key=lambda service: service.name)
        return {service.name: _exported_service(service, directory) for service in services}


def _exported_service(service: Service, directory: Directory) -> dict[str, Any]:
    """The profile without what is as usual; credentials without their secrets."""
    profile = {name: value for name, value in profile_of(service).items() if value != USUAL[name]}
    credentials = sorted(directory.credentials_of(service=service.gcid), key=lambda item: (item.label, item.id))
    kept = [{"label": item.label or item.id, "kind": item.kind.value, "kept": True} for item in credentials]
    return {"gcid": service.gcid, **profile, "credentials": kept}


def _credentials(service: Service, wish: ServiceEntry, here: str, planning: Planning) -> list[Wanted]:
    existing = planning.directory.credentials_of(service=service.gcid)
    found = []
    for number, entry in enumerate(wish.credentials or ()):
        place = here + pointer("credentials", number)
        same = [item for item in existing if (item.label or item.id) == entry.label and item.kind is entry.proof]
        credential = _credential(service, entry, place, same, planning)
        if credential is not None:
            found += [Wanted(place, item, f"{service.address}: {entry.label}") for item in credential]
    labels = [(entry.label, entry.proof) for entry in wish.credentials or ()]
    if len(set(labels)) != len(labels) and not all(entry.kept for entry in wish.credentials or ()):
        planning.fault(here + "/credentials", "two credentials of the same kind have the same label")
    return found


def _credential(
    service: Service, entry: CredentialEntry, place: str, same: list[Credential], planning: Planning
) -> list[Credential] | None:
    if entry.kept:
        if not same:
            planning.fault(place, "there is no such credential to keep; say where its secret is found instead")
        return same
    if entry.password_from or entry.key_from:
        planning.fault(place, "resolve the reference before sending the document; `postroad apply` does")
        return None
    certificate = certificates.read(entry.certificate) if entry.certificate else None
    secret = certificate.fingerprint if certificate else planning.secrets.get(place)
    if secret is None:
        planning.fault(place, "this secret cannot be used: a key must be one that postroad made, a certificate PEM")
        return None
    unchanged = [item for item in same if item.secret == secret]
    if unchanged:
        return unchanged
    key_id = entry.key.split("_")[1] if entry.key else _derived_id(service.gcid, entry)
    other = planning.directory.credentials.get(key_id)
    if other is not None and other.service != service.gcid:
        planning.fault(place, "this key cannot be used; make a new one")
        return None
    return [
        Credential(
            id=key_id,
            kind=entry.proof,
            secret=secret,
            service=service.gcid,
            label=entry.label,
            expires_at_us=certificate.expires_at_us if certificate else 0,
            certificate=certificate.pem if certificate else "",
            created_at_us=planning.now_us,
        )
    ]


def _derived_id(gcid: str, entry: CredentialEntry) -> str:
    """Passwords and certificates are known by service, kind and label, so a new secret replaces the old one."""
    return blake2b(f"{gcid}/{entry.proof.value}/{entry.label}".encode(), digest_size=8).hexdigest()


def _without_empty(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value not in ("", None)}


SECTIONS: tuple[Section, ...] = (People(), Services())


def export(directory: Directory, organizations: list[str]) -> dict[str, Any]:
    """The document that describes these organizations as they are; applying it changes nothing."""
    exported = {}
    for name in organizations:
        organization = directory.organization(name)
        if organization is None:
            continue
        entry: dict[str, Any] = {}
        if organization.description:
            entry["description"] = organization.description
        if organization.posts_per_s:
            entry["postsPerSecond"] = organization.posts_per_s
        for section in SECTIONS:
            entry[section.name] = section.exported(name, directory)
        exported[organization.name] = entry
    return {"postroad": 1, "organizations": exported}
