"""What uses cost, worked out by hand."""

from __future__ import annotations

from decimal import Decimal

import pytest

from postroad.core.billing.charges import rate_uses
from postroad.core.billing.uses import list_uses
from postroad.core.model.billing import BillingSettings, Charge, PriceShares, Rate, Tariff, Tier
from postroad.core.model.journal import Entry
from postroad.core.model.message import MessageType
from tests.samples.billing_parties import BUYER, OWNERS, SELLER, XSLT, ZIP, hop, numbered, posted, returned

pytestmark = pytest.mark.req("P3")


def tiers(*prices: tuple[str, int | None]) -> tuple[Tier, ...]:
    return tuple(Tier(price=Decimal(price), up_to=up_to) for price, up_to in prices)


def tariff(**fields: object) -> Tariff:
    usual = {"name": "standard", "valid_from": "2026-01", "currency": "EUR"}
    return Tariff(**usual | fields)  # type: ignore[arg-type]


def charges(entries: list[tuple[int, Entry]], *tariffs: Tariff, books: BillingSettings | None = None) -> list[Charge]:
    return list(rate_uses(list_uses(entries), tariffs, OWNERS, books))


def told(found: list[Charge]) -> list[tuple[str, str, int]]:
    return [(charge.organization, charge.part.value, charge.micros) for charge in found]


def test_a_message_costs_its_price_and_every_kilobyte_that_was_begun() -> None:
    plan = tariff(message=Rate(per_message=tiers(("0.01", None)), per_kilobyte=tiers(("0.002", None))))
    assert told(charges(numbered(posted((hop(SELLER),), size=1_001)), plan)) == [("MyBiz", "originator", 14_000)]


def test_an_allowance_is_used_up_before_the_tiers_begin() -> None:
    plan = tariff(message=Rate(per_message=tiers(("0.10", 2), ("0.05", None)), free_messages=1))
    entries = numbered(*[posted((hop(SELLER),))] * 5)
    assert [charge.micros for charge in charges(entries, plan)] == [0, 100_000, 100_000, 50_000, 50_000]


def test_a_message_that_crosses_a_tier_pays_each_kilobyte_where_it_lies() -> None:
    plan = tariff(message=Rate(per_kilobyte=tiers(("0.01", 3), ("0.001", None)), free_kilobytes=1))
    entries = numbered(posted((hop(SELLER),), size=2_000), posted((hop(SELLER),), size=5_000))
    assert [charge.micros for charge in charges(entries, plan)] == [10_000, 20_000 + 3_000]


def test_a_new_month_begins_anew_by_the_clock_of_the_books() -> None:
    """In Berlin the first of November begins an hour before it does in UTC, and October has 745 hours."""
    plan = tariff(message=Rate(per_message=tiers(("1", None)), free_messages=1))
    moments = ("2026-10-24T22:30:00", "2026-10-31T22:59:59", "2026-10-31T23:00:00")
    entries = numbered(*[posted((hop(SELLER),), at=at) for at in moments])
    found = charges(entries, plan, books=BillingSettings(time_zone="Europe/Berlin"))
    assert [(f"{charge.day}", charge.micros) for charge in found] == [
        ("2026-10-25", 0), ("2026-10-31", 1_000_000), ("2026-11-01", 0),
    ]  # fmt: skip


def test_the_parties_share_a_price_and_the_shares_make_the_price() -> None:
    plan = tariff(
        message=Rate(per_message=tiers(("0.000100", None)), shares=PriceShares(originator=50, transit=20, recipient=30))
    )
    entries = numbered(posted((hop(XSLT), hop(ZIP), hop(XSLT), hop(SELLER))))
    assert told(charges(entries, plan)) == [
        ("MyBiz", "originator", 50),
        ("Transmatics", "in transit", 6), ("XpandiCo", "in transit", 7), ("Transmatics", "in transit", 7),
        ("Acme", "recipient", 30),
    ]  # fmt: skip


def test_without_in_transit_services_their_share_is_the_originators() -> None:
    plan = tariff(
        message=Rate(per_message=tiers(("1", None)), shares=PriceShares(originator=50, transit=20, recipient=30))
    )
    assert told(charges(numbered(posted((hop(SELLER),))), plan)) == [
        ("MyBiz", "originator", 700_000), ("Acme", "recipient", 300_000),
    ]  # fmt: skip


@pytest.mark.req("R12")
def test_whoever_takes_over_the_cost_of_a_service_pays_its_invocation() -> None:
    plan = tariff(invocation=Rate(per_message=tiers(("0.50", None)), shares=PriceShares(originator=60, recipient=40)))
    entries = numbered(posted((hop(XSLT, payer=SELLER), hop(ZIP), hop(SELLER))), returned(1, 0, 1), returned(1, 0, 2))
    found = [charge for charge in charges(entries, plan) if charge.micros]
    assert told(found) == [
        ("Acme", "payer", 500_000),
        ("MyBiz", "originator", 300_000), ("Acme", "recipient", 200_000),
    ]  # fmt: skip
    assert [charge.service for charge in found] == [XSLT, ZIP, ZIP]


@pytest.mark.req("R12")
def test_whoever_takes_over_the_cost_of_a_service_bears_its_share_of_the_message() -> None:
    plan = tariff(message=Rate(per_message=tiers(("1", None)), shares=PriceShares(originator=0, transit=100)))
    entries = numbered(posted((hop(XSLT, payer=SELLER), hop(ZIP), hop(SELLER))))
    assert told(charges(entries, plan)) == [("Acme", "payer", 500_000), ("XpandiCo", "in transit", 500_000)]


def test_the_vendor_of_an_in_transit_service_is_paid_its_part() -> None:
    special = Rate(per_message=tiers(("0.000009", None)), vendor_percent=60)
    plan = tariff(invocation=Rate(per_message=tiers(("1", None))), services={XSLT: special})
    entries = numbered(posted((hop(XSLT), hop(ZIP), hop(SELLER))), returned(1, 0, 1), returned(1, 0, 2))
    assert told(charges(entries, plan))[1:] == [
        ("MyBiz", "originator", 9), ("Transmatics", "vendor", -5), ("MyBiz", "originator", 1_000_000),
    ]  # fmt: skip


def test_free_types_cost_nothing_and_use_up_nothing() -> None:
    plan = tariff(message=Rate(per_message=tiers(("1", None)), free_messages=1), free_types=(MessageType.RESPONSE,))
    entries = numbered(
        posted((hop(SELLER),), type=MessageType.RESPONSE), posted((hop(SELLER),)), posted((hop(SELLER),))
    )
    assert [charge.micros for charge in charges(entries, plan)] == [0, 0, 1_000_000]


def test_the_tariff_of_the_originator_in_its_month_holds() -> None:
    plans = (
        tariff(message=Rate(per_message=tiers(("1", None)))),
        tariff(valid_from="2026-11", message=Rate(per_message=tiers(("2", None)))),
        tariff(name="big", organizations=("Acme",), currency="USD", message=Rate(per_message=tiers(("3", None)))),
    )
    entries = numbered(
        posted((hop(SELLER),)), posted((hop(SELLER),), at="2026-11-02T00:00:00"), posted((hop(BUYER),), sender=SELLER)
    )
    assert [(charge.micros, charge.tariff, charge.currency) for charge in charges(entries, *plans)] == [
        (1_000_000, "standard/2026-01", "EUR"),
        (2_000_000, "standard/2026-11", "EUR"),
        (3_000_000, "big/2026-01", "USD"),
    ]


def test_without_a_tariff_nothing_is_charged() -> None:
    assert charges(numbered(posted((hop(SELLER),))), tariff(valid_from="2026-11")) == []
    assert charges(numbered(posted((hop(SELLER),))), tariff(valid_until="2026-09")) == []
