"""Divides the price of a use among originator, in-transit services and recipient.

Rules: shares add up to the price, to the micro-unit. Parties are ordered (originator, in-transit services in the
order of the route, recipient). Each pays the difference between the rounded-down total up to it and the total before
it. If another service has taken over a service's cost, it pays that service's share, and the whole price of its
invocation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.model.billing import BilledService, ChargePart, PriceShares, Rate, Use, UseKind

WHOLE = 100


class CostShare(NamedTuple):
    """The part of a price that one service pays, or receives (negative)."""

    part_number: int
    bearer: str  # GCID
    service: str  # GCID
    part: ChargePart
    micros: int


def share_price(use: Use, rate: Rate, price: int) -> Iterator[CostShare]:
    """Yield the shares of a use's price; parties without a percentage in the tariff are omitted."""
    if use.kind is UseKind.INVOCATION and use.transit[0].payer:
        payer = use.transit[0].payer
        yield CostShare(0, payer, use.transit[0].service, ChargePart.PAYER, price)
    else:
        yield from _divide(use, rate.shares, price)
    if use.kind is UseKind.INVOCATION and rate.vendor_percent:
        vendor = use.transit[0].service
        number = len(use.transit) + 2  # behind the recipient
        yield CostShare(number, vendor, vendor, ChargePart.VENDOR, -(price * rate.vendor_percent // WHOLE))


def _divide(use: Use, shares: PriceShares, price: int) -> Iterator[CostShare]:
    """Each party's weight is its percent times the number of in-transit services, so that these divide theirs evenly."""
    services = len(use.transit)
    scale = max(1, services)
    originator = shares.originator + (0 if services else shares.transit)
    weights = [originator * scale, *[shares.transit] * services, shares.recipient * scale]
    before = 0
    for number, (weight, (party, part)) in enumerate(zip(weights, _line(use), strict=True)):
        if weight:
            micros = price * (before + weight) // (WHOLE * scale) - price * before // (WHOLE * scale)
            yield _cost_share(number, use, party, part, micros)
        before += weight


def _line(use: Use) -> Iterator[tuple[BilledService, ChargePart]]:
    yield BilledService(use.originator), ChargePart.ORIGINATOR
    for party in use.transit:
        yield party, ChargePart.TRANSIT
    yield use.recipient, ChargePart.RECIPIENT


def _cost_share(number: int, use: Use, party: BilledService, part: ChargePart, micros: int) -> CostShare:
    bearer = party.payer or party.service
    about = use.transit[0].service if use.kind is UseKind.INVOCATION else party.service
    return CostShare(number, bearer, about, ChargePart.PAYER if party.payer else part, micros)
