"""Names of AS2 stations: a partner's and what it calls us name one agreement, so no two services may have the same pair.

Kept rule: who has a pair already is told only to those who may know that service.
"""

from __future__ import annotations

from collections.abc import Iterable

from postroad.core.configuration.document import Fault
from postroad.core.configuration.planning import Wanted
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory


def same_station(service: Service, directory: Directory) -> Service | None:
    """Another service that stands for the same partner, called by the same name."""
    if service.as2 is None:
        return None
    others = [other for other in directory.services.values() if other.as2 is not None and other.gcid != service.gcid]
    return next((other for other in others if other.as2 and other.as2.stations == service.as2.stations), None)


def taken_by(other: Service, shown: bool) -> str:
    """That the other one has the names, in words."""
    who = other.address if shown else "another service of this network"
    return (
        f"{who} stands for this partner and is called by this name already; let the partner call you by another ownName"
    )


def station_faults(partners: Iterable[Wanted], after: Directory, *, sees_all: bool) -> list[Fault]:
    """Names that would be had twice in the directory as it will be."""
    found = []
    for item in partners:
        other = same_station(item.value, after)
        if other is not None:
            shown = sees_all or after.visible(other, item.value.organization)
            found.append(Fault(f"{item.place}/as2/name", taken_by(other, shown)))
    return found
