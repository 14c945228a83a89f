"""Shares in Spark: who pays which part of a price, as in ``core/billing/sharing.py``.

A price becomes an array of shares, one element per party that bears something, and the array becomes rows. It is written as SQL,
since Spark's functions for Python have no division of whole numbers, and money never passes through a float.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from postroad.core.billing.charges import UNKNOWN
from postroad.core.billing.cost_shares import WHOLE
from postroad.core.model.billing import ChargePart, UseKind

IS_INVOCATION = f"kind = '{UseKind.INVOCATION.value}'"
SERVICES = "size(transit)"
SCALE = f"greatest(1, {SERVICES})"
ORIGINATORS = f"((originator_percent + if({SERVICES} = 0, transit_percent, 0)) * {SCALE})"


def share_prices(priced: DataFrame, owners: DataFrame) -> DataFrame:
    """Grain: one row per use and party that bears a share of its price, or is paid one; known by ``part_number``."""
    taken_over = f"{IS_INVOCATION} and transit[0].payer is not null"
    paid = f"{IS_INVOCATION} and vendor_percent > 0"
    shares = f"concat(if({taken_over}, array({TAKEN_OVER}), {DIVIDED}), if({paid}, array({VENDOR}), array()))"
    exploded = priced.withColumn("share", fn.explode(fn.expr(shares)))
    known = fn.broadcast(owners.select(fn.col("gcid").alias("bearer"), "organization"))
    return exploded.select("*", "share.*").drop("share").join(known, "bearer", "left").fillna({"organization": UNKNOWN})


def _share(number: str, bearer: str, service: str, part: str, micros: str) -> str:
    return (
        f"named_struct('part_number', cast({number} as int), 'bearer', {bearer}, 'service', {service}, "
        f"'part', {part}, 'micros', cast({micros} as bigint))"
    )


def _party(service: str, payer: str, part: ChargePart, weight: str) -> str:
    return f"named_struct('service', {service}, 'payer', {payer}, 'part', '{part.value}', 'weight', {weight})"


def _part_of_price(weight: str) -> str:
    return f"(price * {weight} div ({WHOLE} * {SCALE}))"


TAKEN_OVER = _share("0", "transit[0].payer", "transit[0].service", f"'{ChargePart.PAYER.value}'", "price")
VENDOR = _share(
    f"{SERVICES} + 2",
    "transit[0].service",
    "transit[0].service",
    f"'{ChargePart.VENDOR.value}'",
    f"-(price * vendor_percent div {WHOLE})",
)

# The line of parties with their weights; each with its number and what those before it weigh; then those that weigh anything.
_TRANSIT = _party("hop.service", "hop.payer", ChargePart.TRANSIT, "transit_percent")
_LINE = (
    f"concat(array({_party('originator', 'cast(null as string)', ChargePart.ORIGINATOR, ORIGINATORS)}), "
    f"transform(transit, hop -> {_TRANSIT}), "
    f"array({_party('recipient.service', 'recipient.payer', ChargePart.RECIPIENT, f'(recipient_percent * {SCALE})')}))"
)
_BEFORE = f"if(number = 0, 0L, {ORIGINATORS} + (least(number, {SERVICES} + 1) - 1) * transit_percent)"
_PLACED = f"transform({_LINE}, (party, number) -> struct(party, number, {_BEFORE} as before))"
_SHARE_OF_ONE = _share(
    "one.number",
    "coalesce(one.party.payer, one.party.service)",
    f"if({IS_INVOCATION}, transit[0].service, one.party.service)",
    f"if(one.party.payer is null, one.party.part, '{ChargePart.PAYER.value}')",
    f"{_part_of_price('(one.before + one.party.weight)')} - {_part_of_price('one.before')}",
)
DIVIDED = f"transform(filter({_PLACED}, one -> one.party.weight > 0), one -> {_SHARE_OF_ONE})"
