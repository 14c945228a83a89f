"""What one message costs, before its month is rated: exactly where the tariff has one price, and otherwise at most.

Kept rules: the same uses, tariffs and shares as in ``rating``. How much of an allowance or a tier is used up only the whole month
tells, so a quote is then made of the dearest price of the tariff, and says that it is not exact; it is never too low.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from postroad.core.billing.calendar import day_of
from postroad.core.billing.rating import UNKNOWN
from postroad.core.billing.sharing import shared
from postroad.core.billing.tariffs import holders, rate_of, tariff_of
from postroad.core.model.billing import Books, Part, Rate, Tariff, Tier, Use, UseKind, micros


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """What one organization owes, or is owed (below zero), for one use."""

    organization: str
    kind: UseKind
    service: str  # GCID: the organization's own, or the one whose invocation it pays
    part: Part
    tariff: str  # its name
    currency: str
    micros: int
    is_exact: bool


def quotes(uses: Iterable[Use], tariffs: Sequence[Tariff], owners: Mapping[str, str], books: Books) -> Iterator[Quote]:
    """In the order of the uses; none for those whose originator has no tariff."""
    for use in uses:
        period = f"{day_of(use.at_us, books.time_zone):%Y-%m}"
        tariff = tariff_of(holders(tariffs, period), owners.get(use.originator, UNKNOWN))
        if tariff is not None:
            yield from _quoted(use, tariff, owners)


def _quoted(use: Use, tariff: Tariff, owners: Mapping[str, str]) -> Iterator[Quote]:
    _, rate = rate_of(tariff, use)
    is_free = use.type in tariff.free_types
    price = 0 if is_free else _dearest(rate.per_message) + _dearest(rate.per_kilobyte) * use.kilobytes
    for _, bearer, service, part, amount in shared(use, rate, price):
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


def _dearest(tiers: Sequence[Tier]) -> int:
    return max([micros(tier.price) for tier in tiers], default=0)


def _has_one_price(rate: Rate) -> bool:
    return not (rate.free_messages or rate.free_kilobytes) and max(len(rate.per_message), len(rate.per_kilobyte)) < 2
