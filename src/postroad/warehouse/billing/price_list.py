"""The inputs of pricing besides uses: billing settings, tariffs with their versions, and the owners of services.

All of it is in the table ``log``, since configuration is journalled like everything else. A service keeps its first
organization: services do not move, and the basis of an invoice must not change afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from postroad.core.billing.calendar import next_period
from postroad.core.billing.tariffs import tariffs_by_organization
from postroad.core.model.billing import BillingSettings, Tariff

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KINDS = ("books", "tariff")
BEFORE_ALL = "0001-01"


class Segment(NamedTuple):
    """Months with the same tariffs for the same organizations: from this one until the next segment's."""

    begins: str
    held: Mapping[str, Tariff]  # by organization; the empty one for all others


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceList:
    books: BillingSettings = field(default_factory=BillingSettings)
    tariffs: tuple[Tariff, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)  # of the tariffs, by key

    def segments(self) -> list[Segment]:
        """Return the months, cut where anything changes."""
        ends = {next_period(tariff.valid_until) for tariff in self.tariffs if tariff.valid_until}
        edges = sorted({BEFORE_ALL, *(tariff.valid_from for tariff in self.tariffs), *ends})
        return [Segment(edge, tariffs_by_organization(self.tariffs, edge)) for edge in edges]


class ObjectVersion(NamedTuple):
    """A configuration object as one event has it."""

    kind: str
    key: str
    version: int
    value: str | None  # JSON; None: removed


def make_price_list(objects: Iterable[ObjectVersion], chosen: Mapping[str, int] | None = None) -> PriceList:
    """Build the price list from objects: the last version of each, or the chosen version of a tariff."""
    chosen = chosen or {}
    last: dict[tuple[str, str], ObjectVersion] = {}
    for item in sorted(objects, key=lambda item: item.version):
        if item.version <= chosen.get(item.key, item.version):
            last[item.kind, item.key] = item
    books, tariffs = BillingSettings(), {}
    for item in last.values():
        if item.value is None:
            continue
        if item.kind == "books":
            books = msgspec.json.decode(item.value, type=BillingSettings)
        elif item.kind == "tariff":
            tariffs[item.key] = msgspec.json.decode(item.value, type=Tariff)
    versions = {key: last["tariff", key].version for key in tariffs}
    return PriceList(books=books, tariffs=tuple(tariffs.values()), versions=versions)


def load_price_list(log: DataFrame) -> PriceList:
    """Load the price list from the table ``log``."""
    from pyspark.sql import functions as fn

    rows = (
        log.where(fn.col("object_kind").isin(*KINDS))
        .select("object_kind", "object_key", "object_version", "object_value")
        .collect()
    )
    return make_price_list(ObjectVersion(*row) for row in rows)


def owners(log: DataFrame) -> DataFrame:
    """Grain: one row per service, with the organization that owns it: as its first version says."""
    from pyspark.sql import functions as fn

    first = log.where("object_kind = 'service' and object_version = 1 and object_value is not null")
    return first.select(
        fn.col("object_key").alias("gcid"), fn.get_json_object("object_value", "$.organization").alias("organization")
    )
