"""Organizations and services: making, replacing, removing and suspending them, and the credentials of services."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from postroad.core.configuration import certificates
from postroad.core.configuration.profile import ServiceProfile
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, CredentialKind, Organization, Role, Service, Visibility
from postroad.core.model.ids import check_name
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration import (
    Administration,
    address_claims,
    denied,
    not_found,
    organization_for,
    removing,
    service_for,
    visible_organization,
    visible_service,
)
from postroad.flow.configure import Change, saving

CREDENTIALS_MOST = 100


async def create(
    administration: Administration, caller: Caller, organization: str, name: str, profile: ServiceProfile
) -> Service:
    """A new service, with a GCID drawn by the network."""
    check_name(name, "The service's")
    gcid = administration.new_id()

    def decide(directory: Directory) -> list[Change]:
        house = organization_for(caller, directory, organization, Role.DEVELOPER)
        if directory.service(f"{house.name}/{name}") is not None:
            raise _taken(house.name)
        made = profile.service(gcid=gcid, organization=house.name, name=name)
        return [saving(made), *address_claims(None, made)]

    directory = await administration.carry_out(caller.name, decide, "service made")
    return directory.services[gcid]


async def replace_service(
    administration: Administration,
    caller: Caller,
    named: str,
    name: str,
    profile: ServiceProfile,
    seen_version: int | None,
) -> Service:
    check_name(name, "The service's")

    def decide(directory: Directory) -> list[Change]:
        service = service_for(caller, directory, named, Role.DEVELOPER)
        other = directory.service(f"{service.organization}/{name}")
        if other is not None and other.gcid != service.gcid:
            raise _taken(service.organization)
        changed = profile.service(
            gcid=service.gcid, organization=service.organization, name=name, suspended=service.suspended
        )
        return [saving(changed, seen_version), *address_claims(service, changed)]

    gcid = service_for(caller, administration.directory, named, Role.DEVELOPER).gcid
    directory = await administration.carry_out(caller.name, decide, "service changed")
    return directory.services[gcid]


async def remove(administration: Administration, caller: Caller, named: str, seen_version: int | None) -> None:
    """The service goes, and its credentials with it."""

    def decide(directory: Directory) -> list[Change]:
        service = service_for(caller, directory, named, Role.DEVELOPER)
        credentials = [removing(item) for item in directory.credentials_of(service=service.gcid)]
        return [removing(service, seen_version), *credentials, *address_claims(service, None)]

    await administration.carry_out(caller.name, decide, "service removed")


async def change_organization(
    administration: Administration,
    caller: Caller,
    name: str,
    description: str,
    posts_per_s: int,
    seen_version: int | None,
) -> None:
    def decide(directory: Directory) -> list[Change]:
        house = organization_for(caller, directory, name, Role.OWNER)
        if posts_per_s != house.posts_per_s and not caller.operator:
            raise denied("How much an organization may post is set by the network's operators")
        return [saving(replace(house, description=description, posts_per_s=posts_per_s), seen_version)]

    await administration.carry_out(caller.name, decide, "organization changed")


Found = Callable[[Directory], Organization | Service]


async def suspend(administration: Administration, caller: Caller, find: Found, reason: str) -> None:
    """Suspend for this reason, or with an empty one let take part again; for operators."""

    def decide(directory: Directory) -> list[Change]:
        item = find(directory)
        if not caller.operator:
            raise denied("Only the network's operators suspend, and end a suspension")
        return [saving(replace(item, suspended=reason))]

    await administration.carry_out(caller.name, decide, "suspended" if reason else "suspension ended")


def organization_named(caller: Caller, name: str) -> Found:
    return lambda directory: visible_organization(caller, directory, name)


def service_named(caller: Caller, name: str) -> Found:
    return lambda directory: visible_service(caller, directory, name)


# --- credentials -------------------------------------------------------------------------------------------------------


def credentials(caller: Caller, directory: Directory, named: str) -> tuple[Service, list[Credential]]:
    """A service's credentials, for its organization's people and for itself."""
    service = visible_service(caller, directory, named)
    if not caller.has_role(service.organization, Role.VIEWER) and (
        caller.service is None or caller.service.gcid != service.gcid
    ):
        raise denied("Only people of the service's organization, and the service itself, see its credentials")
    owned = directory.credentials_of(service=service.gcid)
    return service, sorted(owned, key=lambda item: (item.created_at_us, item.id))


async def add_key(
    administration: Administration, caller: Caller, named: str, label: str, expires_at_us: int
) -> tuple[str, Credential]:
    service = service_for(caller, administration.directory, named, Role.DEVELOPER)
    key, credential = administration.new_key(label, service=service.gcid, expires_at_us=expires_at_us)
    await _save(administration, caller, named, credential)
    return key, credential


async def add_password(
    administration: Administration, caller: Caller, named: str, label: str, password: str
) -> Credential:
    service = service_for(caller, administration.directory, named, Role.DEVELOPER)
    credential = await administration.new_password(password, label, service=service.gcid)
    await _save(administration, caller, named, credential)
    return credential


async def add_certificate(
    administration: Administration, caller: Caller, named: str, label: str, pem: str
) -> Credential:
    service = service_for(caller, administration.directory, named, Role.DEVELOPER)
    certificate = certificates.read(pem)
    if certificate is None:
        raise Refused("value.invalid", "This is not one certificate in PEM form", pointer="/certificate")
    credential = Credential(
        id=administration.new_id(),
        kind=CredentialKind.CERTIFICATE,
        secret=certificate.fingerprint,
        service=service.gcid,
        label=label,
        created_at_us=administration.network.clock.now_us(),
        expires_at_us=certificate.expires_at_us,
        certificate=certificate.pem,
    )
    await _save(administration, caller, named, credential)
    return credential


async def _save(administration: Administration, caller: Caller, named: str, credential: Credential) -> None:
    def decide(directory: Directory) -> list[Change]:
        service = service_for(caller, directory, named, Role.DEVELOPER)
        owned = directory.credentials_of(service=service.gcid)
        if len(owned) >= CREDENTIALS_MOST:
            raise Refused("value.invalid", f"A service has at most {CREDENTIALS_MOST} credentials; remove one first")
        if any(item.label == credential.label and item.kind is credential.kind for item in owned):
            raise Refused("name.taken", "The service has such a credential with this label; choose another label",
                          pointer="/label")  # fmt: skip
        if credential.kind is CredentialKind.CERTIFICATE and directory.credentials_of_secret(credential.secret):
            raise Refused("name.taken", "This certificate cannot be used; register one that was made for this service",
                          pointer="/certificate")  # fmt: skip
        return [saving(credential)]

    await administration.carry_out(caller.name, decide, "credential added")


async def remove_credential(administration: Administration, caller: Caller, named: str, credential_id: str) -> None:
    def decide(directory: Directory) -> list[Change]:
        service = service_for(caller, directory, named, Role.DEVELOPER)
        found = directory.credentials.get(credential_id)
        if found is None or found.service != service.gcid:
            raise not_found()
        return [removing(found)]

    await administration.carry_out(caller.name, decide, "credential removed")


# --- looking around ----------------------------------------------------------------------------------------------------


def owned_services(caller: Caller, directory: Directory, organization: str = "") -> list[Service]:
    """The services of the caller's organization; for operators of all, or of the one they name."""
    if organization:
        found = directory.services_of(visible_organization(caller, directory, organization).name)
    elif caller.operator:
        found = list(directory.services.values())
    else:
        found = directory.services_of(caller.organization)
    return sorted(found, key=lambda service: service.gcid)


def listed(
    caller: Caller, directory: Directory, *, text: str = "", category: str = "", format_: str = "", operation: str = ""
) -> list[Service]:
    """What the directory shows the caller: public services, and their own."""
    words = [word.casefold() for word in re.split(r"\s+", text) if word]
    found = [
        service
        for service in directory.services.values()
        if (service.visibility is Visibility.PUBLIC or directory.visible(service, caller.organization))
        and (not category or service.category.casefold() == category.casefold())
        and (not format_ or service.format.casefold() == format_.casefold())
        and (not operation or operation.casefold() in (item.casefold() for item in service.operations))
        and all(word in _searched(service) for word in words)
    ]
    return sorted(found, key=lambda service: service.gcid)


def _searched(service: Service) -> str:
    texts = (service.address, service.description, service.category, *service.operations)
    return " ".join(texts).casefold()


def _taken(organization: str) -> Refused:
    return Refused("name.taken", f"{organization} has a service of this name; choose another", pointer="/name")
