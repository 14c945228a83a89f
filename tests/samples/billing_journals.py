"""Journals that hypothesis makes up for billing: tariffs, routes with takers-over of cost, late events, edges of months.

Moments lie around the ends of months and the two nights on which clocks are set, in several zones; an entry may be older than the
one before it, as it is when a node's clock is behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from hypothesis import strategies as st

from postroad.core.model.billing import BillingSettings, PriceShares, Rate, Tariff, Tier
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Service
from postroad.core.model.journal import (
    ConfigurationChanged,
    Entry,
    InvocationReturned,
    MessagePosted,
    MessageRefused,
    ObjectChange,
)
from postroad.core.model.message import MessageType, Status
from postroad.core.model.route import Context, Copy, Hop
from tests.samples.billing_parties import us

HOUSES = ("House", "Straße & Söhne", "HOUSE 2")
SERVICES = {f"{number:016x}": HOUSES[number % 3] for number in range(1, 7)}
GCIDS = sorted(SERVICES)
EDGES = tuple(
    us(text)
    for text in (
        "2026-03-01T00:00:00", "2026-03-29T01:00:00", "2026-03-31T22:00:00", "2026-04-01T00:00:00",
        "2026-10-24T22:00:00", "2026-10-25T01:00:00", "2026-10-31T23:00:00", "2026-11-01T00:00:00",
        "2026-11-01T06:00:00", "2026-10-31T13:00:00",
    )
)  # fmt: skip
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Auckland", "Asia/Kathmandu")
MONTHS = ("2025-12", "2026-03", "2026-04", "2026-10", "2026-11")


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A journal and what is needed to bill it."""

    entries: list[tuple[int, Entry]]
    tariffs: list[Tariff]
    books: BillingSettings


moments = st.builds(
    lambda edge, offset: edge + offset, st.sampled_from(EDGES), st.integers(-3, 3) | st.integers(-(10**10), 10**10)
)
gcids = st.sampled_from(GCIDS)
prices = st.decimals(min_value=0, max_value=3, places=6, allow_nan=False)


@st.composite
def tiers(draw: st.DrawFn) -> tuple[Tier, ...]:
    ends = sorted(draw(st.sets(st.integers(1, 12), max_size=3)))
    kinds = [Tier(price=draw(prices), up_to=end) for end in ends]
    are_tiered = bool(kinds) or draw(st.booleans())
    return (*kinds, Tier(price=draw(prices))) if are_tiered else ()


@st.composite
def shares(draw: st.DrawFn) -> PriceShares:
    first, second = sorted(draw(st.tuples(st.integers(0, 100), st.integers(0, 100))))
    return draw(
        st.sampled_from([PriceShares(), PriceShares(originator=first, transit=second - first, recipient=100 - second)])
    )


rates = st.builds(
    Rate,
    per_message=tiers(),
    per_kilobyte=tiers(),
    free_messages=st.sampled_from([0, 0, 1, 3]),
    free_kilobytes=st.sampled_from([0, 0, 2, 7]),
    shares=shares(),
    vendor_percent=st.sampled_from([0, 33, 60, 100]),
)


@st.composite
def tariffs(draw: st.DrawFn) -> list[Tariff]:
    """A tariff for all, with a second version perhaps, and one for a house of its own perhaps."""
    found = [draw(tariff("standard", draw(st.sampled_from(MONTHS[:3]))))]
    if draw(st.booleans()):
        found.append(draw(tariff("standard", draw(st.sampled_from(MONTHS[3:])))))
    if draw(st.booleans()):
        found.append(draw(tariff("own", MONTHS[0], organizations=("Straße & Söhne",), currency="JPY")))
    return found


@st.composite
def tariff(draw: st.DrawFn, /, name: str, month: str, **more: Any) -> Tariff:
    fields: dict[str, Any] = {"name": name, "valid_from": month, "currency": "EUR"} | more
    fields |= {"message": draw(rates), "invocation": draw(rates)}
    fields["services"] = draw(st.dictionaries(gcids, rates, max_size=2))
    fields["free_types"] = draw(st.sampled_from([(), (), (MessageType.RESPONSE,)]))
    fields["valid_until"] = draw(st.sampled_from(["", "", "2026-10"])) if month < "2026-10" else ""
    return Tariff(**fields)


@st.composite
def hops(draw: st.DrawFn) -> tuple[Hop, ...]:
    payers = st.sampled_from(["", "", GCIDS[0], GCIDS[1]])
    services = draw(st.lists(gcids, min_size=1, max_size=4))
    return tuple(Hop(service, (), "", draw(_contexts(payers))) for service in services)


def _contexts(payers: st.SearchStrategy[str]) -> st.SearchStrategy[Context | None]:
    return st.none() | st.builds(lambda payer: Context(1, payer=payer), payers)


@st.composite
def posts(draw: st.DrawFn) -> MessagePosted:
    copies = [
        Copy("x", draw(hops())) if draw(st.integers(0, 5)) else Copy("x", (), "recipient.unknown", "")
        for _ in range(draw(st.integers(0, 3)))
    ]
    kind = draw(st.sampled_from([MessageType.REQUEST, MessageType.RESPONSE, MessageType.NOTIFICATION]))
    form = draw(st.sampled_from(["json", "json", "soap12", "network"]))
    size = draw(st.sampled_from([0, 1, 999, 1_000, 1_001, 5_500]))
    return MessagePosted(draw(moments), "s", "s", draw(gcids), kind, "", size, form, 0, 1, (), tuple(copies))


@st.composite
def journals(draw: st.DrawFn, most: int = 25) -> Made:
    books = BillingSettings(time_zone=draw(st.sampled_from(ZONES)))
    plans = draw(tariffs())
    entries: list[Entry] = [_configured(books, plans)]
    for _ in range(draw(st.integers(0, most))):
        entries.append(draw(_next(entries)))
    return Made(entries=list(enumerate(entries, 1)), tariffs=plans, books=books)


def _next(entries: list[Entry]) -> st.SearchStrategy[Entry]:
    refused = st.builds(lambda at: MessageRefused(at, "s", GCIDS[0], "value.invalid", "", 5, "json"), moments)
    travelling = [
        (seq, ordinal, copy.hops)
        for seq, entry in enumerate(entries, 1)
        if isinstance(entry, MessagePosted)
        for ordinal, copy in enumerate(entry.copies)
        if len(copy.hops) > 1 and not copy.code
    ]
    if not travelling:
        return posts() | refused
    return posts() | posts() | _returns(travelling) | refused


@st.composite
def _returns(draw: st.DrawFn, travelling: list[tuple[int, int, tuple[Hop, ...]]]) -> Entry:
    seq, ordinal, route = draw(st.sampled_from(travelling))
    place = draw(st.integers(1, len(route) - 1))
    changed = (*route[:place], *draw(hops())) if draw(st.booleans()) else ()
    status = draw(st.sampled_from([None, None, None, Status("broken", "")]))
    size = draw(st.sampled_from([0, 10, 1_000, 2_001]))
    by = route[place - 1].service
    at = draw(moments)
    return InvocationReturned(at, 1, "s", "s", by, seq, ordinal, place, "", size, 0, (), hops=changed, status=status)


def _configured(books: BillingSettings, plans: list[Tariff]) -> ConfigurationChanged:
    services = [Service(gcid=gcid, organization=house, name=f"s{gcid[-1]}") for gcid, house in SERVICES.items()]
    objects = [ObjectChange(*object_key(item), 1, msgspec.to_builtins(item)) for item in (*services, books, *plans)]
    return ConfigurationChanged(1, "operator", "", tuple(objects))
