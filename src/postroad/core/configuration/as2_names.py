"""Names of AS2 stations: a partner's and what it calls us name one agreement, so an organization has each pair once.

Rule: other organizations do not matter. Each has an address of its own, and a pair that they have cannot be found out.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.configuration.document import Fault
from postroad.core.configuration.planning import Wanted
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory


def same_station(service: Service, directory: Directory) -> Service | None:
    """Another service of the organization that stands for the same partner, called by the same name."""
    if service.as2 is None:
        return None
    others = [other for other in directory.services_of(service.organization) if other.gcid != service.gcid]
    return next((other for other in others if other.as2 and other.as2.stations == service.as2.stations), None)


def taken_by(other: Service) -> str:
    """The error for names that another service has."""
    return f"{other.address} has this partner under this ownName; let the partner call you by another ownName"


def station_faults(partners: Iterable[Wanted], after: Directory) -> list[Fault]:
    """Names that would be had twice in the directory as it will be."""
    found = []
    for item in partners:
        other = same_station(item.value, after)
        if other is not None:
            found.append(Fault(f"{item.place}/as2/name", taken_by(other)))
    return found
