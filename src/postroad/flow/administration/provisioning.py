"""Provisionings and cookies on a person's behalf: begin, list and revoke.

A person of the enterprise begins a provisioning and is sent to the provider's website. Once the provider has
identified its customer there, it confirms the provisioning by a message (``provisioning_changes``). Rules: people are
sent only to the address that the provider has registered, and return only to this network. The token leaves the
network only in that address. Cookies are shown only to the members of their service's organization.

The form proof for pages about provisioning binds a form to its viewer and time.

Rule: a form is valid only for the person it was shown to, for the provider and site it named, and for a limited time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit, urlunsplit

from postroad.core.model.caller import Caller
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Accepts, Role, Service, is_same_organization
from postroad.core.model.message import Cookie
from postroad.core.model.party_name import check_party_name
from postroad.core.model.snapshot import Directory
from postroad.core.model.trust import CONFIRM_WITHIN_S, Provisioning, ProvisioningState, RegisteredCookie, token_hash
from postroad.errors import Refused
from postroad.flow.administration.base import (
    Administration,
    build_address_claims,
    find_visible_organization,
    find_visible_service,
    not_found,
    require_organization,
    require_service,
)
from postroad.flow.administration.provisioning_changes import ProvisioningChanges
from postroad.flow.network import Network
from postroad.flow.registries.configuration import DirectoryChange, build_save

# A path and a query in plain characters; nothing encoded that, decoded, would be a slash, a dot, a percent sign or a control.
RETURNABLE = re.compile(r"/(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%(?!2[EeFf5]|5[Cc]|[01]|7[Ff])[0-9A-Fa-f]{2})*", re.ASCII)
RETURN_PATH = "/provisioned/"  # where on this network people come back to; the enterprise's GCID follows


class StartedProvisioning(NamedTuple):
    """A provisioning that awaits confirmation, and the URL the person is redirected to."""

    provisioning: Provisioning
    redirect: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisioningRequest:
    """A person's request to connect a service of their organization with a provider's service."""

    organization: str
    provider: str  # GCID or address
    service: str  # the name of a new service, or of one that was connected with this provider before
    return_path: str = ""  # where on this network they go on afterwards


async def begin_provisioning(
    administration: Administration, caller: Caller, wish: ProvisioningRequest, public_url: str
) -> StartedProvisioning:
    """Register the service for the provider's account, and return the URL where the person logs in."""
    network = administration.network
    token, gcid = network.randomness.bytes(8).hex(), administration.new_id()
    now_us = network.clock.now_us()
    check_party_name(wish.service, "The service's")
    check_return_path(wish.return_path)

    def decide(directory: Directory) -> list[DirectoryChange]:
        org = require_organization(caller, directory, wish.organization, Role.DEVELOPER)
        provider = find_offering(caller, directory, wish.provider)
        service = _standing_for(directory.service(f"{org.name}/{wish.service}"), provider, directory)
        changes: list[DirectoryChange] = []
        if service is None:
            service = _mapped_service(gcid, org.name, wish.service, provider)
            changes = [build_save(service), *build_address_claims(None, service, directory)]
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
        return [*changes, build_save(provisioning, seen_version)]

    directory = await administration.carry_out(caller.name, decide, "provisioning begun")
    service = directory.service(f"{wish.organization}/{wish.service}")
    if service is None:  # removed in this very moment
        raise not_found()
    provisioning = directory.provisionings[service.gcid]
    provider = directory.services[provisioning.provider]
    return StartedProvisioning(
        provisioning, build_redirect_url(provider.provisioning_url, service.gcid, token, public_url)
    )


def find_offering(caller: Caller, directory: Directory, named: str) -> Service:
    """Return the provider's service if its customers can be provisioned; raises Refused otherwise."""
    provider = find_visible_service(caller, directory, named)
    if not provider.provisioning_url:
        raise Refused(
            "provisioning.not-offered",
            f"{provider.address} has no provisioning URL; send to it directly, or ask its owner how to become a customer",
        )
    if directory.is_suspended(provider):
        raise Refused("recipient.suspended", f"{provider.address} is suspended; try again when the suspension ends")
    return provider


def _standing_for(service: Service | None, provider: Service, directory: Directory) -> Service | None:
    """Return the existing service to connect again; None if it must be created."""
    if service is None:
        return None
    before = directory.provisionings.get(service.gcid)
    if before is None or before.provider != provider.gcid:
        raise Refused(
            "name.taken",
            f"A service {service.address} with another purpose exists; choose another name",
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
    """Return the enterprise's service for its account: private, and open to its own organization only."""
    description = f"{organization}'s account with {provider.address}"
    return Service(gcid=gcid, organization=organization, name=name, description=description, accepts=Accepts.LISTED)


def build_redirect_url(provisioning_url: str, gcid: str, token: str, public_url: str) -> str:
    """Return the provider's page URL with the service, the token and the return address."""
    parts = urlsplit(provisioning_url)
    told = {"serviceID": gcid, "token": token, "returnURL": f"{public_url.rstrip('/')}{RETURN_PATH}{gcid}"}
    query = "&".join(text for text in (parts.query, urlencode(told)) if text)
    return urlunsplit(parts._replace(query=query, fragment=""))


def check_return_path(path: str) -> None:
    """Refuse paths that could lead away from this network, also after decoding once or twice."""
    if path and (not RETURNABLE.fullmatch(path) or "//" in path or ".." in path):
        raise Refused(
            "provisioning.return-path",
            "A return path must stay in this network: begin it with one slash, as in /services",
            pointer="/returnPath",
        )


# --- afterwards ---------------------------------------------------------------------------------------------------------


async def revoke(administration: Administration, caller: Caller, named: str) -> None:
    """Revoke a provisioning for a member of either party; ``named`` is the enterprise's service."""
    directory = administration.directory
    service = directory.service(named)
    if service is not None and is_same_organization(service.organization, caller.organization):
        require_service(caller, directory, named, Role.DEVELOPER)
    found = directory.provisionings.get(service.gcid) if service is not None else None
    parties = [gcid for gcid in _parties(found) if _acts_for(caller, gcid, directory)]
    if found is None or not parties:
        raise not_found()
    network = administration.network
    await ProvisioningChanges(network.configuration, network.clock).revoke(caller.name, found.service, parties)


def _acts_for(caller: Caller, gcid: str, directory: Directory) -> bool:
    service = directory.services.get(gcid)
    return service is not None and caller.has_role(service.organization, Role.DEVELOPER)


async def register_cookie(
    administration: Administration, caller: Caller, named: str, sender: str, cookie: Cookie | None
) -> str:
    """Register or remove a cookie of an organization's service; returns the sender's GCID."""
    network = administration.network
    service = require_service(caller, network.directory, named, Role.DEVELOPER)
    return await ProvisioningChanges(network.configuration, network.clock).register_cookie(
        caller.name, service, sender, cookie
    )


def list_cookies(caller: Caller, directory: Directory, named: str) -> list[RegisteredCookie]:
    """Return the cookies that a service has registered, for its organization's members only."""
    service = find_visible_service(caller, directory, named)
    if not is_same_organization(caller.organization, service.organization):
        raise not_found()
    return directory.cookies_of(service.gcid)


def find_cookie(caller: Caller, directory: Directory, named: str, sender: str) -> RegisteredCookie:
    """Return the cookie for one sender, by address only if the service may know that."""
    found = directory.service(sender)
    known = found.gcid if found is not None and directory.visible(found, caller.organization) else sender
    cookies = [item for item in list_cookies(caller, directory, named) if item.sender == known]
    if not cookies:
        raise not_found()
    return cookies[0]


def list_provisionings(caller: Caller, directory: Directory, organization: str) -> list[Provisioning]:
    """Return the provisionings that the organization has begun, or confirmed as the provider.

    A provisioning that was never confirmed is visible only to the enterprise: its service is private, and the person
    may never have reached the provider.
    """
    org = find_visible_organization(caller, directory, organization)
    found = [item for item in directory.provisionings.values() if _concerns(item, org.name, directory)]
    return sorted(found, key=lambda item: item.service)


def find_provisioning(caller: Caller, directory: Directory, named: str) -> Provisioning:
    """Return a provisioning that the caller may see; ``named`` is the enterprise's service."""
    service = directory.service(named)
    found = directory.provisionings.get(service.gcid) if service is not None else None
    if found is None or not (caller.operator or _concerns(found, caller.organization, directory)):
        raise not_found()
    return found


def find_pending_provisioning(administration: Administration, caller: Caller, gcid: str, token: str) -> Provisioning:
    """Return the pending provisioning for the provider's page, given its token."""
    directory, now_us = administration.directory, administration.network.clock.now_us()
    found = directory.provisionings.get(gcid)
    provider = directory.services.get(found.provider) if found is not None else None
    if (
        found is None
        or provider is None
        or not is_same_organization(provider.organization, caller.organization)
        or not compare_digest(found.token_hash.encode(), token_hash(token).encode())
        or not found.may_be_confirmed(now_us)
    ):
        raise not_found()
    return found


def _parties(found: Provisioning | None) -> tuple[str, ...]:
    """Return the parties that may see it; the provider only once it has confirmed."""
    if found is None:
        return ()
    return (found.service, found.provider) if found.confirmed_at_us else (found.service,)


def _concerns(found: Provisioning, organization: str, directory: Directory) -> bool:
    services = [directory.services[gcid] for gcid in _parties(found) if gcid in directory.services]
    return any(is_same_organization(service.organization, organization) for service in services)


STATE_TEXTS = {
    ProvisioningState.PENDING: ("Not confirmed yet", "has not confirmed yet. Reload this page in a moment"),
    ProvisioningState.EXPIRED: ("Not confirmed in time", "did not confirm within 24 hours. Start again"),
    ProvisioningState.ACTIVE: ("Connected", "has confirmed. Messages can be sent in both directions"),
    ProvisioningState.REVOKED: ("No longer connected", "is no longer connected with you"),
}


def make_form_proof(network: Network, caller: Caller, provider: Service) -> str:
    """Return the proof for the form that this person is shown."""
    return network.tokens.forms.make(caller.name, _subject(provider.gcid, provider), network.clock.now_us())


def check_form_proof(network: Network, caller: Caller, provider: Service, form: Mapping[str, str]) -> None:
    """Refuse a form that this person was not shown, or whose provider has changed its site since."""
    subject = _subject(form.get("provider", ""), provider)
    if not network.tokens.forms.holds(form.get("proof", ""), caller.name, subject, network.clock.now_us()):
        raise Refused("permission.denied", "The form has expired or was not created for you; reload the page")


def _subject(gcid: str, provider: Service) -> str:
    """Return what the person agreed to: the provider and its site."""
    return f"{gcid} {provider.provisioning_url}"
