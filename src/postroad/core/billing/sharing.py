"""Who bears which part of a price.

Kept rules: shares add up to the price, to the micro-unit. Parties stand in a line (originator, in-transit services in the order
of the route, recipient) and each bears the difference between what all up to it bear, rounded down, and what those before it do.
What would fall on a service whose cost somebody took over falls on them; so does the whole price of its invocation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from postroad.core.model.billing import Part, Party, Rate, Shares, Use, UseKind

WHOLE = 100


class Share(NamedTuple):
    """What one service bears (or gets, below zero) of a price; ``service`` is what the charge is about."""

    part_number: int
    bearer: str  # GCID
    service: str  # GCID
    part: Part
    micros: int


def shared(use: Use, rate: Rate, price: int) -> Iterator[Share]:
    """The shares of a use's price; those who bear nothing by the tariff are left out, those whose share is nil today are not."""
    if use.kind is UseKind.INVOCATION and use.transit[0].payer:
        payer = use.transit[0].payer
        yield Share(0, payer, use.transit[0].service, Part.PAYER, price)
    else:
        yield from _divided(use, rate.shares, price)
    if use.kind is UseKind.INVOCATION and rate.vendor_percent:
        vendor = use.transit[0].service
        number = len(use.transit) + 2  # behind the recipient
        yield Share(number, vendor, vendor, Part.VENDOR, -(price * rate.vendor_percent // WHOLE))


def _divided(use: Use, shares: Shares, price: int) -> Iterator[Share]:
    """Each party's weight is its percent times the number of in-transit services, so that these divide theirs evenly."""
    services = len(use.transit)
    scale = max(1, services)
    originator = shares.originator + (0 if services else shares.transit)
    weights = [originator * scale, *[shares.transit] * services, shares.recipient * scale]
    before = 0
    for number, (weight, (party, part)) in enumerate(zip(weights, _line(use), strict=True)):
        if weight:
            micros = price * (before + weight) // (WHOLE * scale) - price * before // (WHOLE * scale)
            yield _borne(number, use, party, part, micros)
        before += weight


def _line(use: Use) -> Iterator[tuple[Party, Part]]:
    yield Party(use.originator), Part.ORIGINATOR
    for party in use.transit:
        yield party, Part.TRANSIT
    yield use.recipient, Part.RECIPIENT


def _borne(number: int, use: Use, party: Party, part: Part, micros: int) -> Share:
    bearer = party.payer or party.service
    about = use.transit[0].service if use.kind is UseKind.INVOCATION else party.service
    return Share(number, bearer, about, Part.PAYER if party.payer else part, micros)
