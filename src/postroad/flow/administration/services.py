"""Organizations and services: create, replace, remove and suspend."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from postroad.core.configuration.conflicts import find_same_as2_identity, taken_identity_text
from postroad.core.configuration.document import DocumentError
from postroad.core.configuration.entries.assets import missing_schema_reason
from postroad.core.configuration.profile.service import ServiceProfile
from postroad.core.configuration.push_settings_error import PushSettingsError
from postroad.core.configuration.send_port_check import find_port_errors
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, OrganizationLimits, Role, Service, Visibility
from postroad.core.model.party_name import check_party_name
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration.base import (
    Administration,
    InvalidChange,
    build_address_claims,
    build_removal,
    find_visible_organization,
    find_visible_service,
    permission_denied,
    require_organization,
    require_service,
)
from postroad.flow.administration.secrets import remove_secrets_of
from postroad.flow.concurrency.commit import run_to_completion
from postroad.flow.network import Network
from postroad.flow.registries.configuration import DirectoryChange, build_save


async def create(
    administration: Administration, caller: Caller, organization: str, name: str, profile: ServiceProfile
) -> Service:
    """Create a service; the network draws its GCID."""
    check_party_name(name, "The service's")
    gcid = administration.new_id()
    org = require_organization(caller, administration.directory, organization, Role.DEVELOPER)
    await _check_port_elsewhere(administration, caller, profile.service(gcid=gcid, organization=org.name, name=name))

    def decide(directory: Directory) -> list[DirectoryChange]:
        org = require_organization(caller, directory, organization, Role.DEVELOPER)
        if directory.service(f"{org.name}/{name}") is not None:
            raise _taken(org.name)
        made = profile.service(gcid=gcid, organization=org.name, name=name)
        _check_stations(made, directory)
        _check_schema(made, directory)
        _check_port(administration, made, directory)
        _check_push(administration, None, made)
        return [build_save(made), *build_address_claims(None, made, directory)]

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
    check_party_name(name, "The service's")
    known = _changeable(caller, administration.directory, named)
    wish = profile.service(gcid=known.gcid, organization=known.organization, name=name)
    await _check_port_elsewhere(administration, caller, wish)

    def decide(directory: Directory) -> list[DirectoryChange]:
        service = _changeable(caller, directory, named)
        other = directory.service(f"{service.organization}/{name}")
        if other is not None and other.gcid != service.gcid:
            raise _taken(service.organization)
        changed = profile.service(
            gcid=service.gcid, organization=service.organization, name=name, suspended=service.suspended
        )
        _check_stations(changed, directory)
        _check_schema(changed, directory)
        _check_port(administration, changed, directory)
        _check_push(administration, service, changed)
        return [build_save(changed, seen_version), *build_address_claims(service, changed, directory)]

    directory = await administration.carry_out(caller.name, decide, "service changed")
    return directory.services[known.gcid]


async def remove(administration: Administration, caller: Caller, named: str, seen_version: int | None) -> None:
    """Remove the service with its credentials, rules, assets, bindings, provisionings, cookies and secrets."""
    await run_to_completion(_remove(administration, caller, named, seen_version))


async def _remove(administration: Administration, caller: Caller, named: str, seen_version: int | None) -> None:
    removed: list[Service] = []

    def decide(directory: Directory) -> list[DirectoryChange]:
        service = _changeable(caller, directory, named)
        if service.suspended and not caller.operator:  # or it would come back in good standing
            raise permission_denied(
                "The service is suspended; only the network's operators can end the suspension, or remove it"
            )
        owned = (
            *directory.credentials_of(service=service.gcid),
            *directory.rules_of(service.gcid),
            *directory.assets_of(service.gcid),
            *directory.trust_of(service.gcid),
            *administration.network.bindings.concerning(service.gcid),
            *directory.attachments_to({service.gcid}),
        )
        removed[:] = [service]
        return [
            build_removal(service, seen_version),
            *map(build_removal, owned),
            *build_address_claims(service, None, directory),
        ]

    await administration.carry_out(caller.name, decide, "service removed")
    await remove_secrets_of(administration, caller.name, removed)


async def change_organization(
    administration: Administration,
    caller: Caller,
    name: str,
    description: str,
    posts_per_s: int | None,
    limits: OrganizationLimits | None,
    seen_version: int | None,
) -> None:
    """Replace an organization's description; limits that are not given stay unchanged."""

    def decide(directory: Directory) -> list[DirectoryChange]:
        org = require_organization(caller, directory, name, Role.OWNER)
        rate, most = org.posts_per_s if posts_per_s is None else posts_per_s, limits or org.limits
        if (rate, most) != (org.posts_per_s, org.limits) and not caller.operator:
            raise permission_denied("Only the network's operators may set the limits of an organization")
        changed = replace(org, description=description, posts_per_s=rate, limits=most)
        return [build_save(changed, seen_version)]

    await administration.carry_out(caller.name, decide, "organization changed")


SuspensionTarget = Callable[[Directory], Organization | Service]


async def suspend(administration: Administration, caller: Caller, find: SuspensionTarget, reason: str) -> None:
    """Suspend for this reason, or end the suspension if it is empty; for operators."""

    def decide(directory: Directory) -> list[DirectoryChange]:
        item = find(directory)
        if not caller.operator:
            raise permission_denied("Only the network's operators may suspend, or end a suspension")
        return [build_save(replace(item, suspended=reason))]

    await administration.carry_out(caller.name, decide, f"suspended: {reason}" if reason else "suspension ended")


def organization_finder(caller: Caller, name: str) -> SuspensionTarget:
    return lambda directory: find_visible_organization(caller, directory, name)


def service_finder(caller: Caller, name: str) -> SuspensionTarget:
    return lambda directory: find_visible_service(caller, directory, name)


# --- looking around ----------------------------------------------------------------------------------------------------


def list_owned_services(caller: Caller, directory: Directory, organization: str = "") -> list[Service]:
    """Return the services of the caller's organization; operators get all, or those of the one they name."""
    if organization:
        found = directory.services_of(find_visible_organization(caller, directory, organization).name)
    elif caller.operator:
        found = list(directory.services.values())
    else:
        found = directory.services_of(caller.organization)
    return sorted(found, key=lambda service: service.gcid)


def list_visible_services(
    caller: Caller, directory: Directory, *, text: str = "", category: str = "", format_: str = "", operation: str = ""
) -> list[Service]:
    """Return the services that the directory shows the caller: public ones and its own."""
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


def _changeable(caller: Caller, directory: Directory, named: str) -> Service:
    service = require_service(caller, directory, named, Role.DEVELOPER)
    if service.hosted is Hosting.PROVISIONING:
        raise permission_denied(
            f"{service.address} is the network's own service for confirmations by providers; it cannot be changed"
        )
    return service


def _taken(organization: str) -> Refused:
    return Refused("name.taken", f"{organization} has a service with this name; choose another", pointer="/name")


def _check_schema(service: Service, directory: Directory) -> None:
    if why := missing_schema_reason(service, directory.assets_of(service.gcid)):
        raise Refused("configuration.conflict", f"{service.address} cannot validate: {why}", pointer="/validates")


def _check_port(administration: Administration, service: Service, directory: Directory) -> None:
    """Refuse a batcher or splitter that could never work, with all errors."""
    _refuse_port(service, find_port_errors(service, directory, administration.network.standards))


async def _check_port_elsewhere(administration: Administration, caller: Caller, service: Service) -> None:
    """Check it in a thread first, so that its patterns are compiled before it is saved."""
    _refuse_port(service, await find_port_errors_in_thread(administration.network, caller, service))


async def find_port_errors_in_thread(network: Network, caller: Caller, service: Service) -> list[DocumentError]:
    """Return the errors of a batcher or splitter; conditions of batchers are parsed in a thread."""
    directory, standards = network.directory, network.standards
    if service.batching is None:
        return find_port_errors(service, directory, standards)
    who = caller.organization or caller.name
    return await network.heavy_requests.run(who, lambda: find_port_errors(service, directory, standards))


def _refuse_port(service: Service, faults: Sequence[DocumentError]) -> None:
    if faults:
        raise InvalidChange("batching.invalid", f"{service.address} is not valid", faults)


def _check_push(administration: Administration, before: Service | None, service: Service) -> None:
    """Refuse push settings that can never work, if they are new or changed."""
    faults = [
        DocumentError(f"/{fault.field}", fault.detail)
        for fault in find_new_push_errors(administration.network, before, service)
        if fault.is_error
    ]
    if faults:
        raise InvalidChange("value.invalid", f"pushes to {service.address} can never work", faults)


def find_new_push_errors(network: Network, before: Service | None, service: Service) -> Sequence[PushSettingsError]:
    """Return the errors in a service's push settings, if these are new or changed."""
    is_same = before is not None and (before.push, before.delivery) == (service.push, service.delivery)
    return () if is_same else network.pushes.faults(service)


def _check_stations(service: Service, directory: Directory) -> None:
    if other := find_same_as2_identity(service, directory):
        raise Refused("name.taken", f"/as2/name: {taken_identity_text(other)}", pointer="/as2/name")
