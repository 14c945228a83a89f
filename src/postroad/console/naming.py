"""Names of services: those that a form offers, and those that stand for GCIDs in records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from postroad.flow.administration_audit import Access, Act
from postroad.flow.object_versions import Version

OFFERED_MOST = 500
Record = TypeVar("Record", Act, Access, Version)


def offered(caller: Caller, directory: Directory, hosted: Hosting | None = None) -> list[str]:
    """Addresses of services that the caller may know, as many as a list can carry; or only of those of one kind."""
    found = (one for one in directory.services.values() if _fits(one, caller, directory, hosted))
    return sorted([one.address for one in islice(found, OFFERED_MOST)], key=str.casefold)


def with_actors(caller: Caller, directory: Directory, records: Iterable[Record]) -> list[Record]:
    """Records with the address of each service that acted; its GCID stays where the caller may not know the service."""
    return [replace(one, by=_actor(caller, directory, one.by)) for one in records]


def _actor(caller: Caller, directory: Directory, by: str) -> str:
    service = directory.services.get(by)
    is_known = service is not None and (caller.operator or directory.visible(service, caller.organization))
    return service.address if service is not None and is_known else by


def _fits(service: Service, caller: Caller, directory: Directory, hosted: Hosting | None) -> bool:
    known = caller.operator or directory.visible(service, caller.organization)
    return known and (hosted is None or service.hosted is hosted)
