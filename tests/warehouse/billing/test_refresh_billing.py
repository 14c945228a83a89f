"""The tables of billing follow the log: late events touch their own month, a tariff that was put right touches all of them.

What the tables hold is compared with the recount each time, and what was invoiced stays what it was.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from postroad.core.billing.invoices import InvoiceIssue, make_correction, make_invoice
from postroad.core.model.billing import BillingSettings, DocumentKind, PriceShares, Rate, Tariff, Tier
from postroad.core.model.configuration_objects import object_key
from postroad.core.model.directory import Service
from postroad.core.model.journal import ConfigurationChanged, Entry, ObjectChange, encode
from postroad.errors import Misconfigured
from postroad.warehouse.billing.ledger import BillingLedger
from postroad.warehouse.billing.reconciliation import Records, reconcile
from postroad.warehouse.jobs.billing_refresh import BILLING_TABLES
from postroad.warehouse.jobs.refreshed_table import RefreshedTable
from postroad.warehouse.landing.log_frame import log_frame
from postroad.warehouse.pipeline import refresh
from postroad.warehouse.store import DeltaStore
from tests.samples.billing_parties import OWNERS, SELLER, XSLT, hop, posted, returned

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.req("P3")

PLAN = Tariff(
    name="standard",
    valid_from="2026-01",
    currency="EUR",
    message=Rate(
        per_message=(Tier(price=Decimal("0.10")),), free_messages=1, shares=PriceShares(originator=70, recipient=30)
    ),
    invocation=Rate(per_message=(Tier(price=Decimal("0.02")),), vendor_percent=60),
)
BOOKS = BillingSettings(time_zone="Europe/Berlin")


def configured(version: int, *objects: Any) -> ConfigurationChanged:
    changes = tuple(ObjectChange(*object_key(item), version, msgspec.to_builtins(item)) for item in objects)
    return ConfigurationChanged(1, "operator", "", changes)


class Network:
    """A journal in memory, and a warehouse that it is landed in."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder = spark, folder
        self.store = DeltaStore(spark, folder)
        self.entries: list[Entry] = []

    def land(self, *entries: Entry) -> list[RefreshedTable]:
        """Land these entries and bring the tables up to date."""
        first = len(self.entries) + 1
        self.entries += entries
        new = log_frame(self.spark, entries, first)
        self.store.append(new, "log", "landing", len(self.entries))
        return refresh(self.store, BILLING_TABLES)

    def journal(self, upto: int) -> Records:
        return [(seq, encode(entry), 0) for seq, entry in enumerate(self.entries[:upto], 1)]

    def ledger(self) -> BillingLedger:
        return BillingLedger(self.folder)


@pytest.fixture
def network(spark: SparkSession, tmp_path: Path) -> Network:
    services = [Service(gcid=gcid, organization=house, name="s") for gcid, house in OWNERS.items()]
    made = Network(spark, tmp_path / "the books")
    made.entries.append(configured(1, *services, PLAN, BOOKS))
    made.store.append(log_frame(spark, made.entries), "log", "landing", 1)
    return made


def issue(number: str, ledger: BillingLedger) -> InvoiceIssue:
    return InvoiceIssue(
        number=number, on=date(2026, 11, 2), books=BOOKS, through=ledger.through(), tariffs={"standard/2026-01": 1}
    )


@pytest.mark.timeout(240)
def test_what_is_late_or_put_right_touches_its_months_and_becomes_a_correction(network: Network) -> None:
    october, november = "2026-10-10T12:00:00", "2026-10-31T23:30:00"  # the latter is November in Berlin
    first = network.land(
        posted((hop(XSLT), hop(SELLER)), at=october), returned(2, 0, 1, at=october), posted((hop(SELLER),), at=october)
    )
    assert [(one.table, len(one.days)) for one in first] == [("usage", 1), ("charges", 31), ("invoice_lines", 1)]
    again = refresh(network.store, BILLING_TABLES)
    assert again == []
    ledger = network.ledger()
    drafts = ledger.month("2026-10").accounts
    assert {account.organization: sum(line.micros for line in draft.sums.values()) for account, draft in drafts.items()} == {
        "MyBiz": 70_000 + 20_000, "Acme": 30_000, "Transmatics": -12_000
    }  # fmt: skip
    documents = [
        make_invoice(account, draft.sums, issue(f"2026-10-{number:04d}", ledger))
        for number, (account, draft) in enumerate(drafts.items(), 1)
    ]
    found = reconcile("2026-10", ledger, network.journal, documents)
    assert (found.uses, found.invoices, found.differences) == (3, 3, ())
    assert found.micros == {"EUR": 108_000}

    later = network.land(posted((hop(SELLER),), at=november), posted((hop(SELLER),), at="2026-10-31T22:59:59"))
    assert later[0].days == (date(2026, 10, 31), date(2026, 11, 1))
    ledger = network.ledger()
    (mine,) = [document for document in documents if document.organization == "MyBiz"]
    (account,) = [account for account in ledger.month("2026-10").accounts if account.organization == "MyBiz"]
    found = reconcile("2026-10", ledger, network.journal, documents)
    assert {one.what for one in found.differences} == {"invoices"}, "what was invoiced can still be made again"
    more = make_correction(
        ledger.month("2026-10").accounts[account].sums, [mine], issue("2026-10-0004", ledger), "late"
    )
    assert more is not None
    assert (more.document, more.total, more.lines[0].quantity) == (DocumentKind.INVOICE, Decimal("0.07"), 1)

    cheaper = replace(PLAN, message=replace(PLAN.message, free_messages=5))
    network.land(configured(2, cheaper))
    ledger = network.ledger()
    draft = ledger.month("2026-10").accounts[account]
    assert draft.tariffs == {"standard/2026-01": 2}
    note = make_correction(draft.sums, [mine, more], issue("2026-10-0005", ledger), "the allowance was wrong")
    assert note is not None
    assert (note.document, note.total) == (DocumentKind.CREDIT_NOTE, Decimal("-0.14"))
    found = reconcile("2026-10", ledger, network.journal, documents)
    assert {one.what for one in found.differences} == {"invoices"}, "the first invoices go by the tariff they name"


def test_a_line_opens_to_its_messages_and_goes_with_them_into_another_month(network: Network) -> None:
    network.land(*[posted((hop(SELLER),), at=f"2026-10-31T1{hour}:00:00") for hour in range(3)])
    ledger = network.ledger()
    for account, draft in ledger.month("2026-10").accounts.items():
        for key, total in draft.sums.items():
            uses = list(ledger.uses_of(account, key))
            assert (len(uses), sum(use.micros for use in uses)) == (total.quantity, total.micros)
            assert [use.seq for use in uses] == [2, 3, 4]
            assert f"{uses[0].at:%Y-%m-%d}" == "2026-10-31"
    assert ledger.addresses()[SELLER] == "Acme/s"
    october = [draft.sums for draft in ledger.month("2026-10").accounts.values()]

    network.land(configured(2, replace(BOOKS, time_zone="Pacific/Kiritimati")))  # where it was November already
    ledger = network.ledger()
    assert [draft.sums for draft in ledger.month("2026-11").accounts.values()] == october
    assert ledger.month("2026-10").accounts == {}, "nothing is charged twice"
    assert reconcile("2026-10", ledger, network.journal, []).differences == ()
    assert {row["day"] for row in network.store.read("usage").collect()} == {date(2026, 11, 1)}


def test_tables_that_are_behind_the_log_are_not_shown(network: Network) -> None:
    network.land(posted((hop(SELLER),)))
    network.store.append(log_frame(network.spark, [posted((hop(SELLER),))], 9), "log", "landing", 9)
    with pytest.raises(Misconfigured, match="behind the log; run `postroad pipeline run` first"):
        network.ledger()


def test_a_charge_that_is_not_in_the_journal_shows_as_a_difference(network: Network) -> None:
    network.land(posted((hop(SELLER),)), posted((hop(SELLER),)))
    found = reconcile("2026-10", network.ledger(), lambda upto: network.journal(upto - 1), [])
    assert {(one.what, one.account.organization) for one in found.differences} == {
        ("charges", "MyBiz"),
        ("charges", "Acme"),
    }
    assert [one.booked.quantity - one.counted.quantity for one in found.differences] == [1, 1]
