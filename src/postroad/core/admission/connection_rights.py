"""Decides who may bind a queue to an exchange or attach a service to a model.

Rule: an exchange or model of others that is not open to the caller is treated as if it did not exist.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.model.directory import Service, is_same_organization
from postroad.core.model.exchange import ANYONE
from postroad.core.model.snapshot import Directory


def is_open_to(host: Service, guest: Service, directory: Directory) -> bool:
    """True if the guest, a queue or a service to attach, may be connected with the host."""
    if is_same_organization(host.organization, guest.organization):
        return True
    return directory.visible(host, guest.organization) and _is_listed(host, guest.names)


def is_open_to_organization(host: Service, organization: str, directory: Directory) -> bool:
    """Whether the organization may know that one of its services could be connected with the host."""
    if is_same_organization(host.organization, organization):
        return True
    services = directory.services_of(organization)
    names = [organization, *(service.gcid for service in services), *(service.address for service in services)]
    return directory.visible(host, organization) and _is_listed(host, names)


def _is_listed(host: Service, names: Iterable[str]) -> bool:
    listed = {name.casefold() for name in host.open_to}
    return ANYONE in listed or not listed.isdisjoint(name.casefold() for name in names)
