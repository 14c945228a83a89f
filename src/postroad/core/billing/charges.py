"""Rates uses: the price of units by tiers, and the reference calculation of charges.

Rules: the cost of the next units is the cost of all units less the cost of the earlier ones, so a period costs the
same however it is divided into messages. Allowances and tiers are counted per originating organization, month and
rate, in the order of the journal. So a use that is recorded late (a node whose clock was behind) is rated after the
known ones, and never changes their price. A use is counted once, however often it is passed; if its versions differ,
the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from postroad.core.billing.calendar import day_of
from postroad.core.billing.cost_shares import share_price
from postroad.core.billing.tariffs import rate_of, tariff_of, tariffs_by_organization
from postroad.core.model.billing import BillingSettings, Charge, Rate, Tariff, Tier, Use, micros


class UsedUnits(NamedTuple):
    """The messages and kilobytes already used of a rate in a period."""

    messages: int = 0
    kilobytes: int = 0


def units_cost(tiers: Sequence[Tier], units: int) -> int:
    """Return the cost of the first ``units`` in micro-units; 0 without tiers."""
    total = begun = 0
    for tier in tiers:
        end = units if tier.up_to is None else min(units, tier.up_to)
        total += max(0, end - begun) * micros(tier.price)
        begun = max(begun, end)
    return total


def use_price(rate: Rate, before: UsedUnits, kilobytes: int) -> int:
    """Return the price of one message of this size, after those before it in the period, in micro-units."""
    messages = _next(rate.per_message, rate.free_messages, before.messages, 1)
    return messages + _next(rate.per_kilobyte, rate.free_kilobytes, before.kilobytes, kilobytes)


def _next(tiers: Sequence[Tier], free: int, before: int, units: int) -> int:
    return units_cost(tiers, max(0, before + units - free)) - units_cost(tiers, max(0, before - free))


UNKNOWN = "(unknown)"  # a party without any organization in the directory's history


def rate_uses(
    uses: Iterable[Use], tariffs: Iterable[Tariff], owners: Mapping[str, str], books: BillingSettings | None = None
) -> Iterator[Charge]:
    """The charges for these uses, all of a month or of several; ``owners`` gives the organization of each service."""
    known = {use.key: use for use in uses}
    rating = _ChargeCounter(tuple(tariffs), owners, books or BillingSettings())
    for key in sorted(known):
        yield from rating.charges(known[key])


class _ChargeCounter:
    """Counts the units used in each period, by organization and rate."""

    def __init__(self, tariffs: tuple[Tariff, ...], owners: Mapping[str, str], books: BillingSettings) -> None:
        self._tariffs = tariffs
        self._owners = owners
        self._books = books
        self._held: dict[str, dict[str, Tariff]] = {}
        self._counted: dict[tuple[str, str, str], UsedUnits] = {}

    def charges(self, use: Use) -> Iterator[Charge]:
        day = day_of(use.at_us, self._books.time_zone)
        period = f"{day:%Y-%m}"
        holder = self._owners.get(use.originator, UNKNOWN)
        if period not in self._held:
            self._held[period] = tariffs_by_organization(self._tariffs, period)
        tariff = tariff_of(self._held[period], holder)
        if tariff is None:
            return
        name, its_rate = rate_of(tariff, use)
        cost = 0 if use.type in tariff.free_types else self._price((holder, period, name), its_rate, use)
        for number, bearer, service, part, part_micros in share_price(use, its_rate, cost):
            yield Charge(
                seq=use.seq,
                ordinal=use.ordinal,
                part_number=number,
                kind=use.kind,
                at_us=use.at_us,
                day=day,
                organization=self._owners.get(bearer, UNKNOWN),
                service=service,
                part=part,
                tariff=tariff.key,
                currency=tariff.currency,
                kilobytes=use.kilobytes,
                micros=part_micros,
            )

    def _price(self, counter: tuple[str, str, str], its_rate: Rate, use: Use) -> int:
        before = self._counted.get(counter, UsedUnits())
        self._counted[counter] = UsedUnits(before.messages + 1, before.kilobytes + use.kilobytes)
        return use_price(its_rate, before, use.kilobytes)
