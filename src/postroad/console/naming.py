"""The services that somebody may name in a form, for the list that helps to write them."""

from __future__ import annotations

from itertools import islice

from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory

OFFERED_MOST = 500


def offered(caller: Caller, directory: Directory, hosted: Hosting | None = None) -> list[str]:
    """Addresses of services that the caller may know, as many as a list can carry; or only of those of one kind."""
    found = (one for one in directory.services.values() if _fits(one, caller, directory, hosted))
    return sorted([one.address for one in islice(found, OFFERED_MOST)], key=str.casefold)


def _fits(service: Service, caller: Caller, directory: Directory, hosted: Hosting | None) -> bool:
    known = caller.operator or directory.visible(service, caller.organization)
    return known and (hosted is None or service.hosted is hosted)
