"""Changed bindings over a whole journal, on Spark: from the files that say so to the report and every party's bill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from postroad.core.model.message import Message, Part, Recipient
from postroad.warehouse.bulk.read.archive import list_pieces
from postroad.warehouse.bulk.read.directories import apply_document, read_directories
from postroad.warehouse.whatif.job import WhatIfJob, compare_journal, make_report
from postroad.warehouse.whatif.journal_replay import TimeWindow, WhatIfQuestion
from postroad.warehouse.whatif.page import render_page
from tests.warehouse.whatif.written_journal import OCTOBER_US, WrittenJournal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NETWORK = """
postroad: 1
organizations:
  MyBiz: {services: {Purchasing: {gcid: "00000000000000a1"}}}
  Acme:
    services:
      Orders:
        gcid: "00000000000000b1"
        visibility: public
        hosted: exchange
        bindings:
          large: {queue: Acme/Desk, query: "$msg/order/total > 1000"}
          all: {queue: Acme/Archive}
      Desk: {gcid: "00000000000000b2"}
      Archive: {gcid: "00000000000000b3"}
      Check: {gcid: "00000000000000b4", visibility: public}
billing:
  tariffs:
    standard:
      - {from: "2026-01", currency: EUR, message: {perMessage: "0.01"}, invocation: {perMessage: "0.05", vendorPercent: 0}}
"""
CHECKED = {
    "name": "checked",
    "role": "recipient",
    "when": {"exists": {"header": "handle"}},
    "then": [{"addServiceBefore": "Acme/Check"}],
}


def change() -> dict[str, Any]:
    """Smaller orders are large as well, nothing goes to the archive, and what the desk gets is checked."""
    content: dict[str, Any] = yaml.safe_load(NETWORK)
    services = content["organizations"]["Acme"]["services"]
    services["Orders"]["bindings"] = {"large": {"queue": "Acme/Desk", "query": "$msg/order/total > 500"}}
    services["Desk"]["rules"] = [CHECKED]
    return content


@pytest.mark.req("P6")
def test_changed_bindings_over_a_journal(spark: SparkSession, tmp_path: Path) -> None:
    before = apply_document(yaml.safe_load(NETWORK))
    journal = WrittenJournal(before)
    for number in range(1, 11):  # totals of 200, 400 … 2000
        part = Part(id="1", content_type="application/xml", data=b"<order><total>%d</total></order>" % (number * 200))
        message = Message(sender="MyBiz/Purchasing", to=(Recipient("Acme/Orders"),), handle=f"h{number}", parts=(part,))
        journal.post(message, OCTOBER_US + number)
    folder = str(journal.write(tmp_path / "data"))
    today = read_directories(folder).find_latest()
    assert today.bindings == before.bindings
    question = WhatIfQuestion(before=today, after=apply_document(change(), today, prune=True), window=TimeWindow())
    rows = compare_journal(spark, WhatIfJob(question=question, pieces=list_pieces(folder))).localCheckpoint()
    report = make_report(spark, rows, question)
    assert (report.traffic.messages, report.traffic.changed) == (10, 10)
    assert {(one.service, one.role, one.gained, one.lost) for one in report.services} == {
        ("Acme/Archive", "recipient", 0, 10),
        ("Acme/Desk", "recipient", 3, 0),  # 600, 800 and 1000
        ("Acme/Check", "in transit", 8, 0),
    }
    assert report.differences == {"forwarded": 3, "not forwarded": 10, "route": 5}
    reasons = {reason.text: reason.messages for reason in report.reasons}
    assert reasons["binding 'all' at Acme/Orders was removed"] == 10
    assert reasons["binding 'large' at Acme/Orders changed, and now matches"] == 3
    assert [count for text, count in reasons.items() if text.startswith("rule 'checked' of Acme/Desk holds")] == [5]
    bills = {bill.organization: (str(bill.before), str(bill.after)) for bill in report.bills}
    assert bills == {"MyBiz": ("0.1", "0.1"), "Acme": ("0.15", "0.48")}  # 15 copies; then 8, each of them checked
    assert "binding &#x27;all&#x27; at Acme/Orders was removed" in render_page(report)
    assert ("Acme/Orders", "Acme/Archive") in {example.before for example in report.examples}
