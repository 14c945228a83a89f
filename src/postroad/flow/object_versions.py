"""The versions that a configuration object ever had, from the journal's own record of them, with what each changed.

Kept rule: whoever may see the object may see its versions; who that is, its readers check first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from postroad.core.configuration.steps import FieldChange
from postroad.core.configuration.written import differences
from postroad.core.model.snapshot import KINDS
from postroad.core.projection.queries import QUERIES
from postroad.flow.network import Network

COLUMNS = QUERIES["object_versions"][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """An object as somebody left it; ``value`` None: removed."""

    version: int
    at_us: int
    by: str
    reason: str
    value: Any | None
    before: Any | None  # what it was until then

    @property
    def removed(self) -> bool:
        return self.value is None

    @property
    def fields(self) -> tuple[FieldChange, ...]:
        """What differs from the version before; a secret is only said to be new."""
        return differences(self.before, self.value) if self.value is not None else ()


async def versions_of(network: Network, kind: str, key: str) -> list[Version]:
    """Newest first."""
    await network.indexed()
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in await network.index.query("object_versions", kind, key)]
    values = [*(read_object(kind, row["value"]) for row in rows), None]  # before the first there was nothing
    return [
        Version(
            version=row["version"],
            at_us=row["at_us"],
            by=row["by"],
            reason=row["reason"],
            value=value,
            before=before,
        )
        for row, (value, before) in zip(rows, pairwise(values), strict=True)
    ]


def read_object(kind: str, value: bytes) -> Any | None:
    """The object that was saved; None where it was removed."""
    return msgspec.convert(msgspec.json.decode(value), KINDS[kind]) if value else None
