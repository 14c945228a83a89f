"""The versions of a configuration object as a page shows them: who, when, why, and what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from postroad.core.configuration.steps import FieldChange
from postroad.core.configuration.written import differences
from postroad.core.model.snapshot import KINDS
from postroad.core.projection.queries import QUERIES
from postroad.flow.network import Network

SHOWN_MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    version: int
    at_us: int
    by: str
    reason: str
    removed: bool
    fields: tuple[FieldChange, ...]


async def versions_of(network: Network, kind: str, key: str) -> list[Version]:
    """Newest first; only those who may see the object itself may ask."""
    await network.indexed()
    columns = QUERIES["object_versions"][1]
    rows = [dict(zip(columns, row, strict=True)) for row in await network.index.query("object_versions", kind, key)]
    values = [_object(kind, row["value"]) for row in rows]
    before = [*values[1:], None]
    return [
        Version(
            version=row["version"],
            at_us=row["at_us"],
            by=row["by"],
            reason=row["reason"],
            removed=after is None,
            fields=differences(earlier, after) if after is not None else (),
        )
        for row, after, earlier in zip(rows, values, before, strict=True)
    ][:SHOWN_MOST]


def _object(kind: str, value: bytes) -> Any | None:
    return msgspec.convert(msgspec.json.decode(value), KINDS[kind]) if value else None
