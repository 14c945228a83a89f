"""Names of services: those that a form offers, and those shown for GCIDs in records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import TypeVar

from postroad.core.model.asset import Hosting
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Service
from postroad.core.model.snapshot import Directory
from postroad.flow.administration.audit import AuditedAccess, AuditedChange
from postroad.flow.administration.base import can_know, describe_service
from postroad.flow.administration.versions import ConfigurationVersion

MAX_OFFERED = 500
Record = TypeVar("Record", AuditedChange, AuditedAccess, ConfigurationVersion)


def list_offered_services(caller: Caller, directory: Directory, hosted: Hosting | None = None) -> list[str]:
    """Return the addresses of services that the caller may know, up to a limit, optionally of one kind."""
    found = (one for one in directory.services.values() if _fits(one, caller, directory, hosted))
    return sorted([one.address for one in islice(found, MAX_OFFERED)], key=str.casefold)


def add_actor_addresses(caller: Caller, directory: Directory, records: Iterable[Record]) -> list[Record]:
    """Return the records with the address of each acting service; hidden services keep their GCID."""
    return [replace(one, by=describe_service(caller, one.by, directory)) for one in records]


def _fits(service: Service, caller: Caller, directory: Directory, hosted: Hosting | None) -> bool:
    return can_know(caller, service, directory) and (hosted is None or service.hosted is hosted)
