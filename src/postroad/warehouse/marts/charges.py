"""The mart ``charges``: the amount that each party owes or is owed for each use.

Grain: one row per (seq, ordinal, part_number): the journal entry of the use, the copy in it, and the position of the party among
those who share the price. ``day`` is the day in the billing time zone. Amounts are those of ``core/billing/charges.py``, to the
micro-unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from postroad.warehouse.billing.prices import price_uses
from postroad.warehouse.billing.sharing import share_prices

if TYPE_CHECKING:
    from postroad.warehouse.billing.price_list import PriceList

COLUMNS = (
    *("seq", "ordinal", "part_number", "kind", "at_us", "period", "organization", "service", "part", "tariff"),
    *("tariff_version", "currency", "kilobytes", "micros", "session", "day"),
)


def charges(uses: DataFrame, owners: DataFrame, prices: PriceList) -> DataFrame:
    """Return the charges for all uses of one or more whole months."""
    return share_prices(price_uses(uses, owners, prices), owners).select(*COLUMNS)
