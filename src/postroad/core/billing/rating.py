"""What uses cost: the reference calculation, use by use.

Kept rules: allowances and tiers are counted per originating organization, month and rate, in the order of the journal. So a use
that comes to light later (a node whose clock was behind) is rated after those that were known, and never changes their price.
A use is counted once, however often it is given; where it was given differently, the last one holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from postroad.core.billing.calendar import day_of
from postroad.core.billing.pricing import Counted, price
from postroad.core.billing.sharing import shared
from postroad.core.billing.tariffs import holders, rate_of, tariff_of
from postroad.core.model.billing import Books, Charge, Rate, Tariff, Use

UNKNOWN = "(unknown)"  # whoever has no organization that the directory ever knew


def rate(
    uses: Iterable[Use], tariffs: Iterable[Tariff], owners: Mapping[str, str], books: Books | None = None
) -> Iterator[Charge]:
    """The charges for these uses, all of a month or of several; ``owners`` gives the organization of each service."""
    known = {use.key: use for use in uses}
    rating = _Rating(tuple(tariffs), owners, books or Books())
    for key in sorted(known):
        yield from rating.charges(known[key])


class _Rating:
    """What has been used so far, by whom."""

    def __init__(self, tariffs: tuple[Tariff, ...], owners: Mapping[str, str], books: Books) -> None:
        self._tariffs = tariffs
        self._owners = owners
        self._books = books
        self._held: dict[str, dict[str, Tariff]] = {}
        self._counted: dict[tuple[str, str, str], Counted] = {}

    def charges(self, use: Use) -> Iterator[Charge]:
        day = day_of(use.at_us, self._books.time_zone)
        period = f"{day:%Y-%m}"
        holder = self._owners.get(use.originator, UNKNOWN)
        if period not in self._held:
            self._held[period] = holders(self._tariffs, period)
        tariff = tariff_of(self._held[period], holder)
        if tariff is None:
            return
        name, its_rate = rate_of(tariff, use)
        cost = 0 if use.type in tariff.free_types else self._price((holder, period, name), its_rate, use)
        for number, bearer, service, part, micros in shared(use, its_rate, cost):
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
                micros=micros,
            )

    def _price(self, counter: tuple[str, str, str], its_rate: Rate, use: Use) -> int:
        before = self._counted.get(counter, Counted())
        self._counted[counter] = Counted(before.messages + 1, before.kilobytes + use.kilobytes)
        return price(its_rate, before, use.kilobytes)
