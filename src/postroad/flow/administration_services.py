"""Organizations and services: making, replacing, removing and suspending them, and the credentials of services."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from postroad.core.configuration.as2_names import same_station, taken_by
from postroad.core.configuration.assets import lacks_schema
from postroad.core.configuration.document import Fault
from postroad.core.configuration.port_faults import port_faults
from postroad.core.configuration.profile import ServiceProfile
from postroad.core.configuration.push_faults import PushFault
from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Organization, OrganizationLimits, Role, Service, Visibility
from postroad.core.model.party_name import check_party_name
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused
from postroad.flow.administration import (
    Administration,
    Contradictory,
    address_claims,
    denied,
    organization_for,
    removing,
    service_for,
    visible_organization,
    visible_service,
)
from postroad.flow.configure import Change, saving
from postroad.flow.network import Network


async def create(
    administration: Administration, caller: Caller, organization: str, name: str, profile: ServiceProfile
) -> Service:
    """A new service, with a GCID drawn by the network."""
    check_party_name(name, "The service's")
    gcid = administration.new_id()
    house = organization_for(caller, administration.directory, organization, Role.DEVELOPER)
    await _check_port_elsewhere(administration, caller, profile.service(gcid=gcid, organization=house.name, name=name))

    def decide(directory: Directory) -> list[Change]:
        house = organization_for(caller, directory, organization, Role.DEVELOPER)
        if directory.service(f"{house.name}/{name}") is not None:
            raise _taken(house.name)
        made = profile.service(gcid=gcid, organization=house.name, name=name)
        _check_stations(made, directory)
        _check_schema(made, directory)
        _check_port(administration, made, directory)
        _check_push(administration, None, made)
        return [saving(made), *address_claims(None, made, directory)]

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

    def decide(directory: Directory) -> list[Change]:
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
        return [saving(changed, seen_version), *address_claims(service, changed, directory)]

    directory = await administration.carry_out(caller.name, decide, "service changed")
    return directory.services[known.gcid]


async def remove(administration: Administration, caller: Caller, named: str, seen_version: int | None) -> None:
    """The service goes, and its credentials, rules, assets, bindings, provisionings and cookies with it."""

    def decide(directory: Directory) -> list[Change]:
        service = _changeable(caller, directory, named)
        if service.suspended and not caller.operator:  # or it would come back in good standing
            raise denied("The service is suspended; the network's operators end that, or remove it")
        owned = (
            *directory.credentials_of(service=service.gcid),
            *directory.rules_of(service.gcid),
            *directory.assets_of(service.gcid),
            *directory.trust_of(service.gcid),
            *administration.network.bindings.concerning(service.gcid),
            *directory.attachments_to({service.gcid}),
        )
        return [removing(service, seen_version), *map(removing, owned), *address_claims(service, None, directory)]

    await administration.carry_out(caller.name, decide, "service removed")


async def change_organization(
    administration: Administration,
    caller: Caller,
    name: str,
    description: str,
    posts_per_s: int | None,
    limits: OrganizationLimits | None,
    seen_version: int | None,
) -> None:
    """Replace what an organization says of itself; without ``posts_per_s`` and ``limits`` those stay as they are."""

    def decide(directory: Directory) -> list[Change]:
        house = organization_for(caller, directory, name, Role.OWNER)
        rate, most = house.posts_per_s if posts_per_s is None else posts_per_s, limits or house.limits
        if (rate, most) != (house.posts_per_s, house.limits) and not caller.operator:
            raise denied("How much an organization may post is set by the network's operators")
        changed = replace(house, description=description, posts_per_s=rate, limits=most)
        return [saving(changed, seen_version)]

    await administration.carry_out(caller.name, decide, "organization changed")


Found = Callable[[Directory], Organization | Service]


async def suspend(administration: Administration, caller: Caller, find: Found, reason: str) -> None:
    """Suspend for this reason, or with an empty one let take part again; for operators."""

    def decide(directory: Directory) -> list[Change]:
        item = find(directory)
        if not caller.operator:
            raise denied("Only the network's operators suspend, and end a suspension")
        return [saving(replace(item, suspended=reason))]

    await administration.carry_out(caller.name, decide, f"suspended: {reason}" if reason else "suspension ended")


def organization_named(caller: Caller, name: str) -> Found:
    return lambda directory: visible_organization(caller, directory, name)


def service_named(caller: Caller, name: str) -> Found:
    return lambda directory: visible_service(caller, directory, name)


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


def _changeable(caller: Caller, directory: Directory, named: str) -> Service:
    service = service_for(caller, directory, named, Role.DEVELOPER)
    if service.hosted is Hosting.PROVISIONING:
        raise denied(f"{service.address} is the network's own service, by which providers confirm; it stays as it is")
    return service


def _taken(organization: str) -> Refused:
    return Refused("name.taken", f"{organization} has a service of this name; choose another", pointer="/name")


def _check_schema(service: Service, directory: Directory) -> None:
    if why := lacks_schema(service, directory.assets_of(service.gcid)):
        raise Refused("configuration.conflict", f"{service.address} cannot validate: {why}", pointer="/validates")


def _check_port(administration: Administration, service: Service, directory: Directory) -> None:
    """A batcher or splitter that could never do its work is not saved; what is wrong with it is told at once."""
    _refuse_port(service, port_faults(service, directory, administration.network.standards))


async def _check_port_elsewhere(administration: Administration, caller: Caller, service: Service) -> None:
    """Check it in a thread first, so that its patterns are compiled by the time it is saved."""
    _refuse_port(service, await port_faults_elsewhere(administration.network, caller, service))


async def port_faults_elsewhere(network: Network, caller: Caller, service: Service) -> list[Fault]:
    """What is wrong with a batcher or splitter; conditions of batchers are read in a thread."""
    directory, standards = network.directory, network.standards
    if service.batching is None:
        return port_faults(service, directory, standards)
    who = caller.organization or caller.name
    return await network.heavy_requests.run(who, lambda: port_faults(service, directory, standards))


def _refuse_port(service: Service, faults: Sequence[Fault]) -> None:
    if faults:
        raise Contradictory("batching.invalid", f"{service.address} cannot be used as it is written", faults)


def _check_push(administration: Administration, before: Service | None, service: Service) -> None:
    """Push settings that can never work are not saved; those that were saved before stay until they are changed."""
    faults = [
        Fault(f"/{fault.field}", fault.detail)
        for fault in new_push_faults(administration.network, before, service)
        if fault.is_error
    ]
    if faults:
        raise Contradictory("value.invalid", f"{service.address} can never be pushed to in this way", faults)


def new_push_faults(network: Network, before: Service | None, service: Service) -> Sequence[PushFault]:
    """What is wrong with the push settings of a service, where they are new or changed."""
    is_same = before is not None and (before.push, before.delivery) == (service.push, service.delivery)
    return () if is_same else network.pushes.faults(service)


def _check_stations(service: Service, directory: Directory) -> None:
    if other := same_station(service, directory):
        raise Refused("name.taken", f"/as2/name: {taken_by(other)}", pointer="/as2/name")
