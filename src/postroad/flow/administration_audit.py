"""What people have done to the network: every change of the configuration, and what was looked at that must be on record.

Kept rules: for operators alone; a secret is never shown, of a new one it is only said that it is new.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from postroad.core.configuration.steps import FieldChange
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Credential, Organization, Person
from postroad.core.model.snapshot import KINDS, STATIONS, Directory
from postroad.core.projection.queries import QUERIES
from postroad.flow.administration import denied
from postroad.flow.network import Network
from postroad.flow.object_versions import versions_of

NEWEST = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """One object as somebody left it, and what that changed."""

    seq: int
    at_us: int
    by: str
    reason: str
    kind: str
    name: str
    version: int
    removed: bool
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    seq: int
    at_us: int
    by: str
    what: str
    detail: str


async def acts(network: Network, caller: Caller, before_seq: int = NEWEST, limit: int = 50) -> list[Act]:
    """The newest changes before an entry, at most so many or few more, each with what differs from the version before it."""
    _check(caller)
    await network.indexed()
    found: list[Act] = []
    while len(found) < limit and (rows := await _changes(network, before_seq, limit)):
        # Names that nobody else may have are objects too, and follow from those that people change.
        found += [await _act(network, row) for row in rows if row["kind"] in KINDS and row["kind"] != STATIONS]
        before_seq = rows[-1]["seq"]
    return found


async def _changes(network: Network, before_seq: int, limit: int) -> list[dict[str, Any]]:
    """At least so many changes, if there are, and never half of what one entry changed."""
    columns = QUERIES["changes"][1]
    rows = await network.index.query("changes", before_seq, limit)
    while len(rows) >= limit and rows[0][-1] == rows[-1][-1]:
        limit *= 4
        rows = await network.index.query("changes", before_seq, limit)
    found = [dict(zip(columns, row, strict=True)) for row in rows]
    return [row for row in found if row["seq"] > found[-1]["seq"]] if len(found) >= limit else found


async def accesses(network: Network, caller: Caller, before_seq: int = NEWEST, limit: int = 50) -> list[Access]:
    """Logins that failed, and payloads that were looked at, newest first."""
    _check(caller)
    await network.indexed()
    rows = await network.index.query("accesses", before_seq, limit)
    return [Access(**dict(zip(QUERIES["accesses"][1], row, strict=True))) for row in rows]


async def _act(network: Network, row: dict[str, Any]) -> Act:
    versions = await versions_of(network, row["kind"], row["key"])
    this = next(one for one in versions if one.version == row["version"])
    return Act(
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
    """As people know it; what belongs to a service or a person is named after that."""
    if isinstance(item, Credential):
        found = directory.services.get(item.service)
        return f"{item.label or key} of {found.address if found is not None else item.service or item.person}"
    if isinstance(item, Organization | Person):  # keys are in lower case
        return item.name if isinstance(item, Organization) else item.email
    address = getattr(item, "address", "")
    owner, _, rest = key.partition("/")
    service = directory.services.get(owner)
    if address or service is None:
        return address or key
    return f"{service.address} {rest}".rstrip()


def _check(caller: Caller) -> None:
    if not caller.operator:
        raise denied("What people have done to the whole network is for its operators")
