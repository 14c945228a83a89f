"""Provisionings and cookies on a person's behalf: begin, look, revoke.

A person of the enterprise begins a provisioning and is sent to the provider's web site; the provider, once it knows its customer
there, confirms it by a message of its own (``provisioning.py``). Kept rules: people are sent to the address that the provider has
registered, and come back to this network and nowhere else; the token leaves in that address alone; cookies are shown to the
people of their service, and to nobody else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hmac import compare_digest
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

from postroad.core.model.caller import Caller
from postroad.core.model.directory import Accepts, Role, Service
from postroad.core.model.message import Cookie
from postroad.core.model.party_name import check_party_name
from postroad.core.model.snapshot import Directory, object_key
from postroad.core.model.trust import CONFIRM_WITHIN_S, Provisioning, RegisteredCookie, token_hash
from postroad.errors import Refused
from postroad.flow.administration import (
    Administration,
    address_claims,
    not_found,
    organization_for,
    service_for,
    visible_organization,
    visible_service,
)
from postroad.flow.configure import Change, saving
from postroad.flow.provisioning import Trust

# A path and a query in plain characters; nothing encoded that, decoded, would be a slash, a dot, a percent sign or a control.
RETURNABLE = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%(?!2[EeFf5]|5[Cc]|[01]|7[Ff])[0-9A-Fa-f]{2})*", re.ASCII)
RETURN_PATH = "/provisioned/"  # where on this network people come back to; the enterprise's GCID follows


class Begun(NamedTuple):
    """A provisioning that waits for its confirmation, and where the person goes now."""

    provisioning: Provisioning
    redirect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a person wants connected: a service of their organization with a provider's service."""

    organization: str
    provider: str  # GCID or address
    service: str  # the name of a new service, or of one that was connected with this provider before
    return_path: str = ""  # where on this network they go on afterwards


async def begin(administration: Administration, caller: Caller, wish: Wish, public_url: str) -> Begun:
    """Register the service that will stand for the provider's, and say where its person proves to be a customer there."""
    network = administration.network
    token, gcid = network.randomness.bytes(8).hex(), administration.new_id()
    now_us = network.clock.now_us()
    check_party_name(wish.service, "The service's")
    check_return_path(wish.return_path)

    def decide(directory: Directory) -> list[Change]:
        house = organization_for(caller, directory, wish.organization, Role.DEVELOPER)
        provider = offering(caller, directory, wish.provider)
        service = _standing_for(directory.service(f"{house.name}/{wish.service}"), provider, directory)
        changes: list[Change] = []
        if service is None:
            service = _mapped_service(gcid, house.name, wish.service, provider)
            changes = [saving(service), *address_claims(None, service, directory)]
        provisioning = Provisioning(
            service=service.gcid,
            provider=provider.gcid,
            started_by=caller.name,
            started_at_us=now_us,
            expires_at_us=now_us + CONFIRM_WITHIN_S * 1_000_000,
            token_hash=token_hash(token),
            return_path=wish.return_path,
        )
        # Its provider may confirm in this very moment.
        seen_version = directory.object_version(*object_key(provisioning))
        return [*changes, saving(provisioning, seen_version)]

    directory = await administration.carry_out(caller.name, decide, "provisioning begun")
    service = directory.service(f"{wish.organization}/{wish.service}")
    if service is None:  # removed in this very moment
        raise not_found()
    provisioning = directory.provisionings[service.gcid]
    provider = directory.services[provisioning.provider]
    return Begun(provisioning, redirect_url(provider.provisioning_url, service.gcid, token, public_url))


def offering(caller: Caller, directory: Directory, named: str) -> Service:
    """The provider's service of that name, when its customers can be provisioned."""
    provider = visible_service(caller, directory, named)
    if not provider.provisioning_url:
        raise Refused(
            "provisioning.not-offered",
            f"{provider.address} has no provisioning URL; send to it as it is, or ask its owner how to become a customer",
        )
    if directory.is_suspended(provider):
        raise Refused("recipient.suspended", f"{provider.address} is suspended; try again when it is back")
    return provider


def _standing_for(service: Service | None, provider: Service, directory: Directory) -> Service | None:
    """The service that is to be connected anew; None when it is to be made."""
    if service is None:
        return None
    before = directory.provisionings.get(service.gcid)
    if before is None or before.provider != provider.gcid:
        raise Refused(
            "name.taken",
            f"There is a service {service.address} with a purpose of its own; choose another name",
            pointer="/service",
        )
    if before.is_active:
        raise Refused(
            "provisioning.active",
            f"{service.address} is connected with {provider.address}; revoke that first, or choose another name",
            pointer="/service",
        )
    return service


def _mapped_service(gcid: str, organization: str, name: str, provider: Service) -> Service:
    """A service of the enterprise for its account with the provider: private, and for its own house until it says otherwise."""
    description = f"{organization}'s account with {provider.address}"
    return Service(gcid=gcid, organization=organization, name=name, description=description, accepts=Accepts.LISTED)


def redirect_url(provisioning_url: str, gcid: str, token: str, public_url: str) -> str:
    """The provider's page, told which service, by which token, and where on this network the person comes back to."""
    parts = urlsplit(provisioning_url)
    told = {"serviceID": gcid, "token": token, "returnURL": f"{public_url.rstrip('/')}{RETURN_PATH}{gcid}"}
    query = "&".join(text for text in (parts.query, urlencode(told)) if text)
    return urlunsplit(parts._replace(query=query, fragment=""))


def check_return_path(path: str) -> None:
    """Refuse whatever could lead away from this network, also after somebody has decoded it once or twice."""
    if path and (not RETURNABLE.fullmatch(path) or "//" in path or ".." in path):
        raise Refused(
            "provisioning.return-path",
            "A return path leads back to this network alone: begin it with one slash, as in /services",
            pointer="/returnPath",
        )


# --- afterwards ---------------------------------------------------------------------------------------------------------


async def revoke(administration: Administration, caller: Caller, named: str) -> None:
    """A person of the enterprise or of the provider ends a provisioning; ``named`` is the enterprise's service."""
    directory = administration.directory
    service = directory.service(named)
    if service is not None and service.organization.casefold() == caller.organization.casefold():
        service_for(caller, directory, named, Role.DEVELOPER)
    found = directory.provisionings.get(service.gcid) if service is not None else None
    parties = [gcid for gcid in _parties(found) if _acts_for(caller, gcid, directory)]
    if found is None or not parties:
        raise not_found()
    network = administration.network
    await Trust(network.configuration, network.clock).revoke(caller.name, found.service, parties)


def _acts_for(caller: Caller, gcid: str, directory: Directory) -> bool:
    service = directory.services.get(gcid)
    return service is not None and caller.has_role(service.organization, Role.DEVELOPER)


async def register_cookie(
    administration: Administration, caller: Caller, named: str, sender: str, cookie: Cookie | None
) -> str:
    """A person registers, or removes, a cookie of their organization's service; returns the sender's GCID."""
    network = administration.network
    service = service_for(caller, network.directory, named, Role.DEVELOPER)
    return await Trust(network.configuration, network.clock).register_cookie(caller.name, service, sender, cookie)


def cookies_of(caller: Caller, directory: Directory, named: str) -> list[RegisteredCookie]:
    """The cookies that a service has registered; for its own people, and nobody else, operators included."""
    service = visible_service(caller, directory, named)
    if caller.organization.casefold() != service.organization.casefold():
        raise not_found()
    return directory.cookies_of(service.gcid)


def cookie_of(caller: Caller, directory: Directory, named: str, sender: str) -> RegisteredCookie:
    """The cookie for one sender; by its address only where the service's people may know that."""
    found = directory.service(sender)
    known = found.gcid if found is not None and directory.visible(found, caller.organization) else sender
    cookies = [item for item in cookies_of(caller, directory, named) if item.sender == known]
    if not cookies:
        raise not_found()
    return cookies[0]


def provisionings_of(caller: Caller, directory: Directory, organization: str) -> list[Provisioning]:
    """All that the organization has begun, and those that it has confirmed as the provider.

    What was never confirmed is between the enterprise and the network: its service is private, and its person
    may never have come.
    """
    house = visible_organization(caller, directory, organization)
    found = [item for item in directory.provisionings.values() if _concerns(item, house.name, directory)]
    return sorted(found, key=lambda item: item.service)


def provisioning_of(caller: Caller, directory: Directory, named: str) -> Provisioning:
    """A provisioning that the caller may see; ``named`` is the enterprise's service, by GCID or address."""
    service = directory.service(named)
    found = directory.provisionings.get(service.gcid) if service is not None else None
    if found is None or not (caller.operator or _concerns(found, caller.organization, directory)):
        raise not_found()
    return found


def visiting(administration: Administration, caller: Caller, gcid: str, token: str) -> Provisioning:
    """What waits for the provider to confirm, for whoever was shown its token: so that its page can say who wants to be known."""
    directory, now_us = administration.directory, administration.network.clock.now_us()
    found = directory.provisionings.get(gcid)
    provider = directory.services.get(found.provider) if found is not None else None
    if (
        found is None
        or provider is None
        or provider.organization.casefold() != caller.organization.casefold()
        or not compare_digest(found.token_hash.encode(), token_hash(token).encode())
        or not found.may_be_confirmed(now_us)
    ):
        raise not_found()
    return found


def _parties(found: Provisioning | None) -> tuple[str, ...]:
    """Whose it is. A provider does not know of it before it has confirmed."""
    if found is None:
        return ()
    return (found.service, found.provider) if found.confirmed_at_us else (found.service,)


def _concerns(found: Provisioning, organization: str, directory: Directory) -> bool:
    services = [directory.services[gcid] for gcid in _parties(found) if gcid in directory.services]
    return organization.casefold() in [service.organization.casefold() for service in services]
