"""Quotes the price of one message before its month is rated; an inexact quote is an upper limit.

Rules: uses, tariffs and shares are those of ``charges``. Only the whole month determines how much of an allowance or
a tier is used up, so a quote then uses the highest price of the tariff, and is marked as inexact; it is never too
low.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from postroad.core.billing.calendar import day_of
from postroad.core.billing.charges import UNKNOWN
from postroad.core.billing.cost_shares import share_price
from postroad.core.billing.tariffs import rate_of, tariff_of, tariffs_by_organization
from postroad.core.model.billing import BillingSettings, ChargePart, Rate, Tariff, Tier, Use, UseKind, micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """The amount that one organization owes for one use, or is owed (negative)."""

    organization: str
    kind: UseKind
    service: str  # GCID: the organization's own, or the one whose invocation it pays
    part: ChargePart
    tariff: str  # its name
    currency: str
    micros: int
    is_exact: bool


def list_quotes(
    uses: Iterable[Use], tariffs: Sequence[Tariff], owners: Mapping[str, str], books: BillingSettings
) -> Iterator[Quote]:
    """Yield quotes in the order of the uses; none if the originator has no tariff."""
    for use in uses:
        period = f"{day_of(use.at_us, books.time_zone):%Y-%m}"
        tariff = tariff_of(tariffs_by_organization(tariffs, period), owners.get(use.originator, UNKNOWN))
        if tariff is not None:
            yield from _quote_use(use, tariff, owners)


def _quote_use(use: Use, tariff: Tariff, owners: Mapping[str, str]) -> Iterator[Quote]:
    _, rate = rate_of(tariff, use)
    is_free = use.type in tariff.free_types
    price = 0 if is_free else _highest_price(rate.per_message) + _highest_price(rate.per_kilobyte) * use.kilobytes
    for _, bearer, service, part, amount in share_price(use, rate, price):
        yield Quote(
            organization=owners.get(bearer, UNKNOWN),
            kind=use.kind,
            service=service,
            part=part,
            tariff=tariff.name,
            currency=tariff.currency,
            micros=amount,
            is_exact=is_free or _has_one_price(rate),
        )


def _highest_price(tiers: Sequence[Tier]) -> int:
    return max([micros(tier.price) for tier in tiers], default=0)


def _has_one_price(rate: Rate) -> bool:
    return not (rate.free_messages or rate.free_kilobytes) and max(len(rate.per_message), len(rate.per_kilobyte)) < 2
