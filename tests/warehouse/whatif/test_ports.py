"""A month of orders through a send port under two policies: batches, waits, company and costs, against plain counting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from postroad.core.model.billing import MICROS
from postroad.core.model.interchange import AssembledInterchange
from postroad.core.model.message import Message, MessageType, Part, Recipient
from postroad.core.model.route import Copy, Hop
from postroad.core.model.snapshot import Directory
from postroad.warehouse.bulk.read.archive import list_pieces
from postroad.warehouse.bulk.read.directories import apply_document
from postroad.warehouse.whatif.job import WhatIfJob, compare_journal, make_report
from postroad.warehouse.whatif.journal_replay import TimeWindow, WhatIfQuestion, replay_pieces
from postroad.warehouse.whatif.report import PortSide, WhatIfReport
from tests.warehouse.whatif.written_journal import OCTOBER_US, WrittenJournal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND_US = 1_000_000
EVERY_S = 10  # one order after the other
ORDERS = 24
TARIFF = {"standard": [{"from": "2026-10", "currency": "EUR", "message": {"perMessage": "1"}}]}


def order(number: int) -> bytes:
    return b"ST*850*%04d~BEG*00*NE*%04d**20261001~SE*3*%04d~" % (number, number, number)


def network(**batching: Any) -> Directory:
    port = {
        "sendsTo": "Acme/edi",
        "standard": "x12",
        "sender": "MYBIZ",
        "receiver": "ACME",
        "envelope": {"version": "00401"},
    }
    services = {
        "orders": {
            "gcid": "00000000000000b1",
            "hosted": "batcher",
            "visibility": "public",
            "batching": port | batching,
        },
        "edi": {"gcid": "00000000000000b2", "visibility": "public"},
    }
    mine = {"Sales": {"gcid": "00000000000000a1", "visibility": "public"}}
    houses = {"Acme": {"services": services}, "MyBiz": {"services": mine}}
    return apply_document({"postroad": 1, "organizations": houses, "billing": {"tariffs": TARIFF}})


def traffic(directory: Directory) -> WrittenJournal:
    """Orders, a paper that no policy takes as it has two parts, and the interchange that was really sent then."""
    journal = WrittenJournal(directory)
    port = directory.service("Acme/orders")
    assert port is not None
    for number in range(ORDERS):
        at_us = OCTOBER_US + number * EVERY_S * SECOND_US
        parts: tuple[Part, ...] = (Part(id="1", content_type="application/edi-x12", data=order(number)),)
        if number == ORDERS - 1:
            parts += (Part(id="2", content_type="text/plain", data=b"remark"),)
        journal.post(
            Message(sender="MyBiz/Sales", to=(Recipient("Acme/orders"),), type=MessageType.NOTIFICATION, parts=parts),
            at_us,
        )
    last = journal.posted(len(journal.entries))
    copies = (Copy("Acme/edi", (Hop("00000000000000b2"),)),)
    journal.add(
        replace(last, sender=port.gcid, copies=copies, form="interchange", assembled=AssembledInterchange("x12", ())),
        b"",
    )
    return journal


@pytest.fixture(scope="module")
def report(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> WhatIfReport:
    before = network(count=6)
    after = network(count=100, ageSeconds=45)
    folder = traffic(before).write(tmp_path_factory.mktemp("ports"))
    question = WhatIfQuestion(before=before, after=after, window=TimeWindow())
    rows = compare_journal(spark, WhatIfJob(question=question, pieces=list_pieces(str(folder)))).persist()
    return make_report(spark, rows, question)


def waits(sizes: list[int], closes_after_s: int) -> list[int]:
    """How long each message waits in batches of these sizes, which close so long after their first."""
    return [closes_after_s - EVERY_S * place for size in sizes for place in range(size)]


@pytest.mark.req("B1", "P6")
def test_batches_and_waits_are_told_before_and_after(report: WhatIfReport) -> None:
    [port] = report.ports
    assert port.port == "Acme/orders"
    size = len(order(1))
    assert port.before == PortSide(
        messages=23, alone=1, batches=3, left_open=5, bytes=18 * size, largest_bytes=6 * size,
        wait_s=25.0, wait_p95_s=50.0, wait_most_s=50.0,
    )  # fmt: skip
    expected = waits([5, 5, 5, 5, 3], 45)
    assert port.after == PortSide(
        messages=23, alone=1, batches=5, left_open=0, bytes=23 * size, largest_bytes=5 * size,
        wait_s=round(sum(expected) / len(expected), 3), wait_p95_s=45.0, wait_most_s=45.0,
    )  # fmt: skip
    assert port.before.messages_each == 6.0
    assert port.in_other_batches == 23  # none leaves with the same others
    assert port.is_changed


@pytest.mark.req("P6")
def test_interchanges_are_billed_as_messages(report: WhatIfReport) -> None:
    [acme, mine] = sorted(report.bills, key=lambda bill: bill.organization)
    assert mine.before_micros == mine.after_micros == ORDERS * MICROS  # what it posts costs the same
    assert (acme.before_micros, acme.after_micros) == ((3 + 1) * MICROS, (5 + 1) * MICROS)


def test_the_same_policy_is_told_the_same_on_both_sides(tmp_path: Path) -> None:
    same = network(count=6)
    folder = traffic(same).write(tmp_path)
    rows = list(replay_pieces(list_pieces(str(folder)), WhatIfQuestion(before=same, after=same, window=TimeWindow())))
    assert len(rows) == ORDERS  # the interchange is played again, and so has no row
    for row in rows:
        before, after = row["arrivals"]
        assert before | {"side": "after"} == after
        assert before["outcome"] == ("alone" if row is rows[-1] else "gathered")
