"""Laws that hold for whatever tariffs and traffic there are."""

from __future__ import annotations

import random
from collections import defaultdict
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.billing.calendar import day_of, period_us
from postroad.core.billing.charges import UsedUnits, rate_uses, units_cost, use_price
from postroad.core.billing.cost_shares import share_price
from postroad.core.billing.invoices import InvoiceIssue, make_correction, make_invoice, round_amount, sum_charges
from postroad.core.billing.uses import list_uses
from postroad.core.model.billing import BilledService, BillingSettings, Charge, ChargePart, Rate, Use, UseKind
from postroad.core.model.message import MessageType
from tests.samples.billing_journals import GCIDS, SERVICES, ZONES, Made, gcids, journals, moments, rates, tiers

pytestmark = pytest.mark.req("P3")

parties = st.builds(BilledService, gcids, st.sampled_from(["", "", GCIDS[2]]))


def made_use(kind: UseKind, transit: list[BilledService], recipient: BilledService) -> Use:
    return Use(
        seq=1, ordinal=0, at_us=0, kind=kind, type=MessageType.REQUEST, size=1, originator=GCIDS[0],
        transit=tuple(transit), recipient=recipient,
    )  # fmt: skip


def charged(made: Made, found: list[Use] | None = None) -> list[Charge]:
    return list(rate_uses(list_uses(made.entries) if found is None else found, made.tariffs, SERVICES, made.books))


@given(st.sampled_from(UseKind), st.lists(parties, min_size=1, max_size=5), parties, rates, st.integers(0, 10**12))
def test_shares_make_the_price_and_nobody_is_off_by_a_micro_unit(
    kind: UseKind, transit: list[BilledService], recipient: BilledService, its_rate: Rate, amount: int
) -> None:
    found = list(share_price(made_use(kind, transit, recipient), its_rate, amount))
    borne = [share for share in found if share.part is not ChargePart.VENDOR]
    assert sum(share.micros for share in borne) == amount
    assert len({share.part_number for share in found}) == len(found)
    assert all(share.micros >= 0 for share in borne)
    originators = sum(share.micros for share in found if share.part is ChargePart.ORIGINATOR)
    if kind is UseKind.MESSAGE:
        assert abs(originators - Decimal(amount) * its_rate.shares.originator / 100) < 1
    vendors = [-share.micros for share in found if share.part is ChargePart.VENDOR]
    assert all(0 <= part <= amount for part in vendors)


@given(tiers(), st.lists(st.integers(0, 9), max_size=12))
def test_a_period_costs_the_same_however_it_is_cut(its_tiers: tuple[object, ...], sizes: list[int]) -> None:
    its_rate = Rate(per_kilobyte=its_tiers, free_kilobytes=3)  # type: ignore[arg-type]
    before, total = 0, 0
    for size in sizes:
        total += use_price(its_rate, UsedUnits(0, before), size)
        before += size
    assert total == units_cost(its_rate.per_kilobyte, max(0, before - 3))


@given(journals(), st.randoms(use_true_random=False))
def test_order_and_repetition_of_uses_do_not_matter(made: Made, chance: random.Random) -> None:
    found = list(list_uses(made.entries))
    mixed = found + chance.sample(found, len(found) // 2)
    chance.shuffle(mixed)
    assert charged(made, mixed) == charged(made)


@given(journals(), st.integers(0, 30))
def test_what_comes_later_never_changes_what_was_charged(made: Made, known: int) -> None:
    """However late it is by its clock: so charges are only ever added, and corrections list exactly the late ones."""
    first = list(rate_uses(list_uses(made.entries[:known]), made.tariffs, SERVICES, made.books))
    assert charged(made)[: len(first)] == first


@given(journals())
def test_every_use_under_a_tariff_is_charged_once_per_part_and_to_its_price(made: Made) -> None:
    found = charged(made)
    keys = [(charge.seq, charge.ordinal, charge.part_number) for charge in found]
    assert len(set(keys)) == len(keys)
    known = {use.key for use in list_uses(made.entries)}
    assert {(charge.seq, charge.ordinal) for charge in found} <= known
    prices: dict[tuple[str, str, str], int] = defaultdict(int)
    for charge in found:
        if charge.part is not ChargePart.VENDOR:
            prices[charge.tariff, charge.period, charge.kind] += charge.micros
    assert all(amount >= 0 for amount in prices.values())


@given(journals(), st.integers(0, 30))
def test_all_documents_together_charge_what_one_invoice_would(made: Made, known: int) -> None:
    now = sum_charges(charged(made))
    then = sum_charges(list(rate_uses(list_uses(made.entries[:known]), made.tariffs, SERVICES, made.books)))
    for account, its_lines in then.items():
        issue = InvoiceIssue(number="1", on=day_of(0, "UTC"), books=BillingSettings(), through=known, tariffs={})
        first = make_invoice(account, its_lines, issue)
        later = make_correction(now[account], [first], issue, "late")
        owed = sum((round_amount(line.micros, account.currency) for line in now[account].values()), Decimal(0))
        assert first.total + (later.total if later else 0) == owed
        assert make_correction(now[account], [first, *([later] if later else [])], issue, "") is None


@given(moments, st.sampled_from(ZONES))
def test_a_moment_lies_in_the_month_of_its_day(at_us: int, zone: str) -> None:
    period = f"{day_of(at_us, zone):%Y-%m}"
    begins, ends = period_us(period, zone)
    assert begins <= at_us < ends
