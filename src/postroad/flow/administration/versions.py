"""The versions of a configuration object, from the journal, with the changes of each.

Rule: everyone who may see an object may see its versions. The caller of these functions checks that.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import msgspec

from postroad.core.configuration.change_plan import ChangedField
from postroad.core.configuration.object_fields import find_changed_fields
from postroad.core.model.configuration_objects import stored_object
from postroad.core.projection.queries import QUERIES
from postroad.flow.network import Network

COLUMNS = QUERIES["object_versions"][1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationVersion:
    """One version of an object; ``value`` None means removed."""

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
    def fields(self) -> tuple[ChangedField, ...]:
        """The fields that differ from the previous version; secrets are only marked as new."""
        return find_changed_fields(self.before, self.value) if self.value is not None else ()


async def list_versions(network: Network, kind: str, key: str) -> list[ConfigurationVersion]:
    """Return the versions of an object, newest first."""
    await network.wait_until_indexed()
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in await network.index.query("object_versions", kind, key)]
    values = [*(decode_object(kind, row["value"]) for row in rows), None]  # before the first there was nothing
    return [
        ConfigurationVersion(
            version=row["version"],
            at_us=row["at_us"],
            by=row["by"],
            reason=row["reason"],
            value=value,
            before=before,
        )
        for row, (value, before) in zip(rows, pairwise(values), strict=True)
    ]


def decode_object(kind: str, value: bytes) -> Any | None:
    """Decode the saved object; None if it was removed."""
    return stored_object(kind, msgspec.json.decode(value)) if value else None
