"""A whole journal under changed rules and prices, on Spark: every number of the report against plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace as replaced
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from postroad.core.billing.charges import rate_uses
from postroad.core.billing.invoices import round_amount, sum_charges
from postroad.core.billing.uses import list_uses
from postroad.core.model.billing import MICROS, BilledService, Use, UseKind
from postroad.core.model.journal import Entry, InvocationReturned, MessagePosted
from postroad.core.model.message import MessageType, Recipient
from postroad.core.model.route import Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.read.archive import list_pieces
from postroad.warehouse.bulk.read.directories import apply_document
from postroad.warehouse.bulk.read.logged_posts import LoggedPost
from postroad.warehouse.whatif import billing
from postroad.warehouse.whatif.comparison import routed_side
from postroad.warehouse.whatif.job import WhatIfJob, compare_journal, make_report
from postroad.warehouse.whatif.journal_replay import TimeWindow, WhatIfQuestion
from postroad.warehouse.whatif.report import BillComparison, WhatIfReport
from postroad.warehouse.whatif.report_tables import count_days
from tests.warehouse.bulk.traffic import document, messages, order
from tests.warehouse.whatif.written_journal import DAY_US, OCTOBER_US, WrittenJournal, numbered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TARIFFS = {
    "standard": [
        {
            "from": "2026-10",
            "currency": "EUR",
            "message": {
                "perMessage": [{"upTo": 5, "price": "0.0125"}, {"price": "0.01"}],
                "perKilobyte": "0.003333",
                "freeMessages": 3,
                "shares": {"originator": 50, "transit": 20, "recipient": 30},
            },
            "invocation": {"perMessage": "0.02", "vendorPercent": 60},
        }
    ]
}


def priced_document() -> dict[str, Any]:
    return document() | {"billing": {"tariffs": TARIFFS}}


BEFORE = apply_document(priced_document())


def changed() -> Directory:
    """Nearly all orders are split now, offers are no longer redirected, and an invocation costs more."""
    content = priced_document()
    houses = content["organizations"]
    houses["MyBiz"]["services"]["Purchasing"]["rules"][0]["when"]["greaterThan"]["value"] = 5
    houses["Acme"]["services"]["Supply"]["rules"].pop(0)
    houses["Acme"]["services"]["Sales"]["accepts"] = "listed"
    dearer = TARIFFS["standard"][0] | {"invocation": {"perMessage": "0.05", "vendorPercent": 10}}
    content["billing"]["tariffs"] = {"standard": [dearer]}
    return apply_document(content, BEFORE, prune=True)


AFTER = changed()


@pytest.fixture(scope="module")
def journal() -> WrittenJournal:
    written = WrittenJournal(BEFORE)
    for number in range(40):
        at_us = OCTOBER_US + number % 4 * DAY_US + number
        total = 5000 if number % 5 == 0 else number % 12
        seq = written.post(
            order(number, total, topic="offer" if number % 7 == 0 else "order"), at_us, size=900 * number
        )
        written.pass_on(seq)
        if number % 3 == 0:
            written.respond(seq)
    for message in messages():
        seq = written.post(message, OCTOBER_US + 5 * DAY_US)
        if seq and isinstance(written.entries[seq - 1][0], MessagePosted) and message.handle != "order 7":
            written.pass_on(seq)
    written.post(order(99, 1), OCTOBER_US + 40 * DAY_US)  # behind the window
    return written


@pytest.fixture(scope="module")
def folder(journal: WrittenJournal, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return journal.write(tmp_path_factory.mktemp("whatif"))


WINDOW = TimeWindow(from_us=OCTOBER_US, to_us=OCTOBER_US + 31 * DAY_US)


def asked(spark: SparkSession, folder: Path, after: Directory, *, as_it_was: bool = False) -> WhatIfReport:
    question = WhatIfQuestion(before=BEFORE, after=after, window=WINDOW, as_it_was=as_it_was)
    rows = compare_journal(spark, WhatIfJob(question=question, pieces=list_pieces(str(folder)))).localCheckpoint()
    return make_report(spark, rows, question)


@pytest.fixture(scope="module")
def report(spark: SparkSession, folder: Path) -> WhatIfReport:
    return asked(spark, folder, AFTER)


def in_window(journal: WrittenJournal) -> list[tuple[int, Entry]]:
    return [(seq, entry) for seq, entry in numbered(journal.entries) if WINDOW.has(entry.at_us)]


def compared_posts(journal: WrittenJournal) -> list[tuple[int, MessagePosted, tuple[Copy, ...]]]:
    """Every message of the window with its copies under the changed directory, by plain Python."""
    found = []
    for seq, entry in in_window(journal):
        if isinstance(entry, MessagePosted) and entry.type is not MessageType.RESPONSE:
            side = routed_side(LoggedPost(seq, entry, journal.entries[seq - 1][1]), AFTER)
            copies = side.copies or tuple(Copy(copy.named, (), side.code) for copy in entry.copies)
            found.append((seq, entry, copies))
    return found


def ways(copies: Iterable[Copy]) -> list[list[str]]:
    return [[hop.service for hop in copy.hops] for copy in copies]


def oftener(one: Copy, other: Copy) -> list[Hop]:
    """The stops of services that the one passes oftener than the other: the last ones of each service."""
    times = Counter(hop.service for hop in other.hops)
    seen: Counter[str] = Counter()
    found = []
    for hop in one.hops:
        seen[hop.service] += 1
        if seen[hop.service] > times[hop.service]:
            found.append(hop)
    return found


@pytest.mark.req("P6")
def test_the_report_counts_every_message_once(report: WhatIfReport, journal: WrittenJournal) -> None:
    posts = compared_posts(journal)
    moved = [seq for seq, entry, copies in posts if ways(entry.copies) != ways(copies)]
    assert 0 < len(moved) < len(posts)
    assert (report.traffic.messages, report.traffic.changed) == (len(posts), len(moved))
    assert (report.traffic.undecidable, report.traffic.refused_then) == (0, 2)
    by_day = Counter(entry.at_us // DAY_US * DAY_US for _, entry, _ in posts)
    every_day = range(min(by_day), max(by_day) + 1, DAY_US)  # one of which had no messages
    assert [day.same + day.changed for day in report.days] == [by_day[day] for day in every_day]
    assert report.days[0].day == "2026-10-01"
    assert (report.begins, report.ends) == ("2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z")


@pytest.mark.req("P6")
def test_services_gained_and_lost_are_counted_by_role(report: WhatIfReport, journal: WrittenJournal) -> None:
    expected: Counter[tuple[str, str, str]] = Counter()
    for _, entry, copies in compared_posts(journal):
        for was, is_now in zip(entry.copies, copies, strict=True):
            for word, one, other in (("gained", is_now, was), ("lost", was, is_now)):
                for hop in oftener(one, other):
                    role = "recipient" if hop is one.hops[-1] else "in transit"
                    expected[BEFORE.services[hop.service].address, role, word] += 1
    found: Counter[tuple[str, str, str]] = Counter()
    for change in report.services:
        found[change.service, change.role, "gained"] = change.gained
        found[change.service, change.role, "lost"] = change.lost
    assert +found == expected
    assert found["Mill/Split", "in transit", "gained"]
    assert found["Acme/Sales", "recipient", "lost"]


@pytest.mark.req("P6")
def test_reasons_and_examples_name_the_rules(report: WhatIfReport) -> None:
    texts = {reason.text: reason.messages for reason in report.reasons}
    assert texts["rule 'offers go to sales' of Acme/Supply was removed"] > 1
    assert any(text.startswith("rule 'large orders are split' of MyBiz/Purchasing holds") for text in texts)
    assert sum(report.differences.values()) >= report.traffic.changed
    assert set(report.differences) == {"route", "refused"}
    assert {text for example in report.examples for text in example.reasons} == set(texts)
    for example in report.examples:
        assert example.before != example.after


def owed(used: Iterable[Use], directory: Directory) -> dict[str, int]:
    owners = {gcid: service.organization for gcid, service in BEFORE.services.items()}
    sums: Counter[str] = Counter()
    for charge in rate_uses(used, directory.tariffs, owners, directory.books):
        sums[charge.organization] += charge.micros
    return dict(sums)


def invoiced(used: Iterable[Use], directory: Directory) -> dict[str, Decimal]:
    """The totals of the invoices that the rating would write."""
    owners = {gcid: service.organization for gcid, service in BEFORE.services.items()}
    totals: defaultdict[str, Decimal] = defaultdict(Decimal)
    for account, its_lines in sum_charges(rate_uses(used, directory.tariffs, owners, directory.books)).items():
        totals[account.organization] += sum(round_amount(line.micros, account.currency) for line in its_lines.values())
    return dict(totals)


def supposed_uses(journal: WrittenJournal) -> list[Use]:
    """The uses of the changed side, by plain Python."""
    after = {seq: copies for seq, _, copies in compared_posts(journal)}
    found: list[Use] = []
    changed_entries: list[tuple[int, Entry]] = []
    for seq, entry in in_window(journal):
        if isinstance(entry, MessagePosted) and seq in after:
            changed_entries.append((seq, replace(entry, copies=after[seq])))
            for copy, (was, is_now) in enumerate(zip(entry.copies, after[seq], strict=True)):
                new = [hop for hop in oftener(is_now, was) if hop is not is_now.hops[-1]]
                for place, hop in enumerate(new):
                    found.append(supposed(seq, entry, is_now, billing.ASSUMED_ORDINAL + 100 * copy + place, hop))
        elif isinstance(entry, InvocationReturned):
            copy_now = after[entry.message][entry.copy] if entry.message in after else None
            stops = list(enumerate(copy_now.hops)) if copy_now else []
            places = {hop.service: place for place, hop in reversed(stops)}
            if entry.by in places:
                changed_entries.append((seq, replace(entry, hop=places[entry.by] + 1)))
        else:
            changed_entries.append((seq, entry))
    return [*list_uses(changed_entries), *found]


def supposed(seq: int, entry: MessagePosted, copy: Copy, ordinal: int, hop: Any) -> Use:
    payers = [each.context.payer if each.context else "" for each in (hop, copy.hops[-1])]
    return Use(
        seq=seq, ordinal=ordinal, at_us=entry.at_us, kind=UseKind.INVOCATION, type=entry.type, size=entry.size,
        originator=entry.sender, transit=(BilledService(hop.service, payers[0]),),
        recipient=BilledService(copy.hops[-1].service, payers[1]),
    )  # fmt: skip


@pytest.mark.req("P6")
def test_bills_are_those_of_the_rating_message_by_message(report: WhatIfReport, journal: WrittenJournal) -> None:
    before = {bill.organization: bill.before_micros for bill in report.bills}
    after = {bill.organization: bill.after_micros for bill in report.bills}
    assert before == owed(list_uses(in_window(journal)), BEFORE)
    assert after == owed(supposed_uses(journal), AFTER)
    assert before != after
    assert {bill.currency for bill in report.bills} == {"EUR"}
    assert {bill.organization: bill.before_invoiced for bill in report.bills} == invoiced(
        list_uses(in_window(journal)), BEFORE
    )
    assert {bill.organization: bill.after_invoiced for bill in report.bills} == invoiced(supposed_uses(journal), AFTER)


@pytest.mark.req("P6")
def test_where_nothing_is_changed_nothing_changes(spark: SparkSession, folder: Path, journal: WrittenJournal) -> None:
    report = asked(spark, folder, BEFORE, as_it_was=True)
    assert (report.traffic.changed, report.services, report.reasons, report.examples) == (0, (), (), ())
    assert [bill.difference for bill in report.bills] == [0] * len(report.bills)
    assert {bill.organization: bill.after_micros for bill in report.bills} == owed(
        list_uses(in_window(journal)), BEFORE
    )


@pytest.mark.req("P6")
def test_what_happened_is_what_would_happen_today(spark: SparkSession, folder: Path, report: WhatIfReport) -> None:
    """No rule has changed since, so both baselines give the same report."""
    assert replaced(asked(spark, folder, AFTER, as_it_was=True), baseline="today") == report


@pytest.mark.req("P6")
def test_what_needs_a_body_that_is_gone_is_counted_as_undecidable(spark: SparkSession, tmp_path: Path) -> None:
    bare = WrittenJournal(BEFORE)
    bare.post(order(1, 10))
    bare.post(order(2, 10, sender="Acme/Gate", to=(Recipient("Acme/Supply"),), topic="offer"))
    bare.drop_bodies()
    question = WhatIfQuestion(before=BEFORE, after=AFTER, window=WINDOW)
    rows = compare_journal(spark, WhatIfJob(question=question, pieces=list_pieces(str(bare.write(tmp_path)))))
    traffic, _ = count_days(rows)
    assert (traffic.messages, traffic.changed, traffic.undecidable) == (2, 1, 1)


def test_money_is_exact_and_decimal() -> None:
    bill = BillComparison(organization="A", currency="EUR", before_micros=1_234_567, after_micros=1_000_000)
    assert (str(bill.before), str(bill.after), str(bill.difference)) == ("1.234567", "1", "-0.234567")


def test_lines_are_rounded_as_invoices_round_them(spark: SparkSession) -> None:
    given = [
        (micros, currency)
        for micros in (0, 4_999, 5_000, -5_000, -4_999, 499_999, 500_000, -500_000, 500, -500, 12_345_678_905_000)
        for currency in ("EUR", "JPY", "KWD")
    ]
    rows = spark.createDataFrame(given, "micros bigint, currency string")
    found = rows.select("micros", "currency", billing.rounded_micros().alias("rounded")).collect()
    assert {(row.micros, row.currency): Decimal(row.rounded) / MICROS for row in found} == {
        (micros, currency): round_amount(micros, currency) for micros, currency in given
    }
