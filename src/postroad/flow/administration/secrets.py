"""Stored secrets of organizations and services: list, set and remove.

Rules: owners set the secrets of their organization, developers those of single services. A secret is never read back. An
operator acts only for an organization without an owner, since a secret lets the network act in its owner's name elsewhere.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from postroad.core.configuration.shapes import SECRET_NAME
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role, Service
from postroad.core.model.secret_entries import SECRET, SecretRecord, secret_key
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused, Unavailable
from postroad.flow.administration.base import (
    Administration,
    find_visible_service,
    not_found,
    permission_denied,
    require_organization,
    require_service,
)
from postroad.flow.administration.confirmations import check_owner_only
from postroad.flow.network import Network
from postroad.flow.registries.named_secrets import STORED, list_references
from postroad.flow.registries.secret_reader import Scope
from postroad.flow.registries.secret_vault import SecretVault

MAX_SECRETS = 100  # of one organization, with those of its services
MAX_SECRET_BYTES = 65_536
NO_MASTER_KEY = "This network stores no secrets, because its operator has not set a master key; contact the operator"

log = logging.getLogger(__name__)

Place = Callable[[Directory], Scope]  # where a secret is stored, if the caller may change it; raises Refused


class ListedSecret(NamedTuple):
    """A stored secret, and which services use it; the secret itself is not shown to anyone."""

    record: SecretRecord
    service: Service | None  # None: for all services of the organization
    used_by: list[Service]
    is_stored: bool  # False: the store has lost it, so it must be set again


def require_vault(network: Network) -> SecretVault:
    if network.vault is None:
        raise Refused("secrets.unavailable", NO_MASTER_KEY)
    return network.vault


async def list_secrets(network: Network, caller: Caller, organization: str) -> list[ListedSecret]:
    """Return all secrets of an organization and its services, for its members."""
    owner = require_organization(caller, network.directory, organization, Role.VIEWER).name
    return await _list(network, owner)


async def list_service_secrets(network: Network, caller: Caller, named: str) -> list[ListedSecret]:
    """Return the secrets that only this service may use, for its organization's members and for itself."""
    service = find_visible_service(caller, network.directory, named)
    is_itself = caller.service is not None and caller.service.gcid == service.gcid
    if not is_itself and not caller.has_role(service.organization, Role.VIEWER):
        raise permission_denied(
            "Only members of the service's organization, and the service itself, may see its secrets"
        )
    return [one for one in await _list(network, service.organization) if one.record.service == service.gcid]


def place_for_organization(caller: Caller, organization: str, name: str) -> Place:
    """Return the place of a secret that all services of an organization may use."""

    def find_place(directory: Directory) -> Scope:
        owner = require_organization(caller, directory, organization, Role.OWNER).name
        check_owner_only(caller, directory, owner)
        return owner, "", name

    return find_place


def place_for_service(caller: Caller, named: str, name: str) -> Place:
    """Return the place of a secret that only one service may use."""

    def find_place(directory: Directory) -> Scope:
        service = require_service(caller, directory, named, Role.DEVELOPER)
        check_owner_only(caller, directory, service.organization)
        return service.organization, service.gcid, name

    return find_place


def place_for_removal(caller: Caller, named: str, name: str) -> Place:
    """Return the place of a secret of a service, also if the service has been removed; ``named`` is then its GCID."""
    of_service = place_for_service(caller, named, name)

    def find_place(directory: Directory) -> Scope:
        orphaned = _find_orphaned(caller, directory, named, name)
        if orphaned is None:
            return of_service(directory)
        owner = require_organization(caller, directory, orphaned.organization, Role.DEVELOPER).name
        check_owner_only(caller, directory, owner)
        return orphaned.organization, orphaned.service, orphaned.name

    return find_place


def _find_orphaned(caller: Caller, directory: Directory, gcid: str, name: str) -> SecretRecord | None:
    """Return the secret of a removed service of the caller's organization; of any organization for operators."""
    if not gcid or directory.service(gcid) is not None:
        return None
    records = (
        directory.secrets.values() if caller.operator else directory.secrets.of(caller.organization.casefold()).values()
    )
    return next((one for one in records if one.service == gcid and one.name.casefold() == name.casefold()), None)


async def set_secret(
    administration: Administration, caller: Caller, place: Place, text: str, seen: int | None = None
) -> ListedSecret:
    """Set a secret; the next use of it on any node has the new value. ``seen``: the version that it replaces."""
    network = administration.network
    scope = place(network.directory)
    vault = require_vault(network)
    _check_name(scope[2])
    _check_text(text)

    def check(directory: Directory) -> None:
        place(directory)
        if seen is not None and directory.object_version(SECRET, secret_key(*scope)) != seen:
            raise Refused("version.conflict", "It was changed since you read it; read it again and repeat your change")
        _check_number(directory, scope)

    record = await vault.set(caller.name, scope, text, check)
    return _listed(network.directory, record, is_stored=True)


async def remove_secret(administration: Administration, caller: Caller, place: Place) -> None:
    """Remove a secret; pushes that need it fail until it is set again."""
    network = administration.network
    scope = place(network.directory)
    vault = require_vault(network)

    def check(directory: Directory) -> None:
        place(directory)
        if directory.secret(*scope) is None:
            raise not_found()

    await vault.remove(caller.name, scope, check)


async def remove_secrets_of(administration: Administration, by: str, removed: Iterable[Service]) -> None:
    """Remove the secrets of services that have been removed. Owners can remove those that cannot be removed now."""
    network = administration.network
    gone = {one.gcid: one.organization for one in removed}
    listed = [
        one for owner in sorted(set(gone.values())) for one in network.directory.secrets.of(owner.casefold()).values()
    ]
    if network.vault is None:
        return
    for record in (one for one in listed if one.service in gone):
        scope = (record.organization, record.service, record.name)
        try:
            await network.vault.remove(by, scope, partial(_check_orphaned, scope))
        except (Refused, Unavailable) as error:
            log.warning(
                "secrets.left: secret:%s of the removed service %s is left: %s", record.name, record.service, error
            )


def _check_orphaned(scope: Scope, directory: Directory) -> None:
    if scope[1] in directory.services or directory.secret(*scope) is None:
        raise not_found()


async def _list(network: Network, organization: str) -> list[ListedSecret]:
    directory, vault = network.directory, network.vault
    listed = directory.secrets.of(organization.casefold())
    missing = await vault.find_missing(organization) if vault is not None else set(listed)
    found = [_listed(directory, record, is_stored=key not in missing) for key, record in listed.items()]
    return sorted(found, key=lambda one: (one.record.name.casefold(), one.service.address if one.service else ""))


def _listed(directory: Directory, record: SecretRecord, *, is_stored: bool) -> ListedSecret:
    service = directory.services.get(record.service) if record.service else None
    return ListedSecret(record, service, _list_users(directory, record), is_stored)


def _list_users(directory: Directory, record: SecretRecord) -> list[Service]:
    """Return the services whose profile refers to the secret."""
    reference = f"{STORED}{record.name}".casefold()
    found = [
        service
        for service in directory.services_of(record.organization)
        if any(named.casefold() == reference for named, _ in list_references(service))
        and _finds(directory, service, record)
    ]
    return sorted(found, key=lambda service: service.address)


def _finds(directory: Directory, service: Service, record: SecretRecord) -> bool:
    """Whether this secret is the one that the service finds under its name: its own goes before its organization's."""
    if record.service:
        return service.gcid == record.service
    return directory.secret(record.organization, service.gcid, record.name) is None


def _check_name(name: str) -> None:
    if not re.fullmatch(SECRET_NAME, name):
        raise Refused(
            "name.invalid",
            f"The name {name[:80]!r} of a secret is not allowed: use 1 to 64 ASCII letters, digits, dots, underscores or "
            "hyphens, starting with a letter or digit",
        )


def _check_text(text: str) -> None:
    size = len(text.encode())
    if not 0 < size <= MAX_SECRET_BYTES:
        raise Refused(
            "value.invalid", f"A secret has 1 to {MAX_SECRET_BYTES} bytes; this one has {size}", pointer="/value"
        )


def _check_number(directory: Directory, scope: Scope) -> None:
    listed = directory.secrets.of(scope[0].casefold())
    if secret_key(*scope) not in listed and len(listed) >= MAX_SECRETS:
        raise Refused("secrets.too-many", f"{scope[0]} has {MAX_SECRETS} secrets; remove one that is not used any more")
