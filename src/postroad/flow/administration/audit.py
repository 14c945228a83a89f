"""The audit trail for operators: configuration changes, failed logins and payload access.

Rules: only operators may read it. Secrets are never shown; the trail records only that a secret was replaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postroad.core.configuration.change_plan import ChangedField
from postroad.core.model.caller import Caller
from postroad.core.model.configuration_objects import AS2_IDENTITIES, KINDS
from postroad.core.model.directory import Credential, Organization, Person
from postroad.core.model.secret_entries import SecretRecord
from postroad.core.model.snapshot import Directory
from postroad.core.projection.queries import QUERIES
from postroad.flow.administration.base import permission_denied
from postroad.flow.administration.versions import list_versions
from postroad.flow.network import Network

NEWEST = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedChange:
    """One object version, and what it changed."""

    seq: int
    at_us: int
    by: str
    reason: str
    kind: str
    name: str
    version: int
    removed: bool
    fields: tuple[ChangedField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedAccess:
    """A failed login or an access to a payload."""

    seq: int
    at_us: int
    by: str
    what: str
    detail: str


async def list_audited_changes(
    network: Network, caller: Caller, before_seq: int = NEWEST, limit: int = 50
) -> list[AuditedChange]:
    """Return about that many changes before an entry, newest first, each with its field changes."""
    _check(caller)
    await network.wait_until_indexed()
    found: list[AuditedChange] = []
    while len(found) < limit and (rows := await _changes(network, before_seq, limit)):
        # Unique names are objects too; they follow from the objects that people change.
        found += [await _act(network, row) for row in rows if row["kind"] in KINDS and row["kind"] != AS2_IDENTITIES]
        before_seq = rows[-1]["seq"]
    return found


async def _changes(network: Network, before_seq: int, limit: int) -> list[dict[str, Any]]:
    """Return at least that many changes, without splitting those of one entry."""
    columns = QUERIES["changes"][1]
    rows = await network.index.query("changes", before_seq, limit)
    while len(rows) >= limit and rows[0][-1] == rows[-1][-1]:
        limit *= 4
        rows = await network.index.query("changes", before_seq, limit)
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    return [row for row in found if row["seq"] > found[-1]["seq"]] if len(found) >= limit else found


async def list_audited_accesses(
    network: Network, caller: Caller, before_seq: int = NEWEST, limit: int = 50
) -> list[AuditedAccess]:
    """Return failed logins and payload accesses, newest first."""
    _check(caller)
    await network.wait_until_indexed()
    rows = await network.index.query("accesses", before_seq, limit)
    return [AuditedAccess(**dict(zip(QUERIES["accesses"][1], row, strict=True))) for row in rows]


async def _act(network: Network, row: dict[str, Any]) -> AuditedChange:
    versions = await list_versions(network, row["kind"], row["key"])
    this = next(one for one in versions if one.version == row["version"])
    return AuditedChange(
        seq=row["seq"],
        at_us=row["at_us"],
        by=row["by"],
        reason=row["reason"],
        kind=row["kind"],
        name=_name(row["key"], this.value or this.before, network.directory),
        version=row["version"],
        removed=this.removed,
        fields=this.fields,
    )


def _name(key: str, item: Any | None, directory: Directory) -> str:
    """Return the object's name for people; objects of a service or person are named after it."""
    if isinstance(item, Credential):
        return f"{item.label or key} of {directory.address_of(item.service) or item.person}"
    if isinstance(item, Organization | Person):  # keys are in lower case
        return item.name if isinstance(item, Organization) else item.email
    if isinstance(item, SecretRecord):
        return f"{item.name} of {directory.address_of(item.service) if item.service else item.organization}"
    address = getattr(item, "address", "")
    owner, _, rest = key.partition("/")
    service = directory.services.get(owner)
    if address or service is None:
        return address or key
    return f"{service.address} {rest}".rstrip()


def _check(caller: Caller) -> None:
    if not caller.operator:
        raise permission_denied("Only operators may read the audit log of the whole network")
