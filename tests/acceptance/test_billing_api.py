"""Bills over HTTP: operators issue, credit and record payments; members read their own, and nobody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroad.bootstrap.settings import Settings
from postroad.core.billing.records import read_records
from postroad.core.model.billing import Invoice
from postroad.core.model.billing_entries import InvoiceCredited, InvoiceIssued, PaymentRecorded
from postroad.core.model.journal import Entry, decode
from postroad.core.model.snapshot import Directory
from postroad.flow.registries.configuration import decode_directory_rows
from tests.acceptance.asking import Asked, asked_network
from tests.acceptance.test_directory_configuration import PLAN, apply
from tests.samples.counted import Counted

INVOICES = "/v1/billing/invoices"
PERIOD = "2026-09"
LATE = 2**52  # later than any month that is over
MEMBERS = ("viewer of A", "developer of A", "owner of A")
STRANGERS = ("service of A", "service of B", "owner of B")


def charges(gcid: str, micros: int = 12_340_000, organization: str = "Aster") -> dict[str, Any]:
    line = {"kind": "message", "part": "originator", "service": gcid, "tariff": "standard/2026-01"}
    sums = {"quantity": 3, "kilobytes": 4, "micros": micros}
    return {
        "organization": organization,
        "currency": "EUR",
        "tariffs": {"standard/2026-01": 2},
        "lines": [line | sums],
    }


async def issue(asked: Asked, *accounts: dict[str, Any], who: str = "operator", **wish: Any) -> Any:
    counted = {"through": 7, "latest": LATE, "accounts": accounts}
    response = await asked.ask(who, "POST", INVOICES, {"period": PERIOD, "counted": counted} | wish)
    assert response.status_code == 200, response.text
    return response.json()["items"]


async def entries(asked: Asked) -> list[Entry]:
    batch = await asked.running.network.journal.read(0)
    return [decode(record.facts) for record in batch.records]


async def billed(asked: Asked) -> list[Entry]:
    kinds = InvoiceIssued | InvoiceCredited | PaymentRecorded
    return [entry for entry in await entries(asked) if isinstance(entry, kinds)]


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


@pytest.mark.req("P3")
async def test_an_issued_invoice_is_an_entry_with_the_whole_document(asked: Asked) -> None:
    [issued] = await issue(asked, charges(asked.gcid("Aster/Private")))
    assert (issued["number"], issued["total"], issued["lines"][0]["service"]) == (
        f"{PERIOD}-0001",
        "12.34",
        "Aster/Private",
    )
    [entry] = await billed(asked)
    assert isinstance(entry, InvoiceIssued)
    assert entry.by == "operator@network.example"
    known = read_records(await entries(asked)).invoices[issued["number"]]
    assert isinstance(known, Invoice)
    renamed = await asked.ask("owner of A", "GET", f"/v1/services/{asked.gcid('Aster/Private')}")
    change = await asked.ask(
        "owner of A",
        "PUT",
        f"/v1/services/{asked.gcid('Aster/Private')}",
        {"name": "Renamed"},
        match=renamed.headers["etag"],
    )
    assert change.status_code == 200, change.text
    again = (await asked.ask("owner of A", "GET", f"{INVOICES}/{issued['number']}")).json()
    assert again["lines"] == issued["lines"], "a document does not change with the directory"


@pytest.mark.req("P3")
async def test_issuing_twice_gives_one_invoice(asked: Asked) -> None:
    account = charges(asked.gcid("Aster/Private"))
    first, second = await asyncio.gather(issue(asked, account), issue(asked, account))
    assert sorted([len(first), len(second)]) == [0, 1]
    assert await issue(asked, account) == []
    assert len(await billed(asked)) == 1


@pytest.mark.req("P3")
@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(("kind", "part"), [("mesage", "originator"), ("message", "vendor"), ("message", "")])
async def test_a_line_that_no_invoice_has_is_refused_before_anything_is_issued(
    asked: Asked, kind: str, part: str, dry_run: bool
) -> None:
    right, wrong = charges(asked.gcid("Aster/Private")), charges("", organization="Birch")
    wrong["lines"][0] |= {"kind": kind, "part": part}
    wish = {"period": PERIOD, "dryRun": dry_run, "counted": {"through": 7, "latest": LATE, "accounts": [right, wrong]}}
    response = await asked.ask("operator", "POST", INVOICES, wish)
    assert (response.status_code, response.json()["code"]) == (422, "value.invalid")
    assert f"of Birch has the kind {kind!r} with the part {part!r}" in response.json()["detail"]
    assert await billed(asked) == []


async def test_a_dry_run_issues_nothing(asked: Asked) -> None:
    account = charges(asked.gcid("Aster/Private"))
    [would_be] = await issue(asked, account, dryRun=True)
    assert await billed(asked) == []
    [issued] = await issue(asked, account)
    assert (would_be["number"], would_be["lines"]) == (issued["number"], issued["lines"])


@pytest.mark.req("P3")
async def test_later_charges_become_a_correction_that_follows_the_invoice(asked: Asked) -> None:
    gcid = asked.gcid("Aster/Private")
    [first] = await issue(asked, charges(gcid))
    [correction] = await issue(asked, charges(gcid, 15_000_000))
    assert (correction["corrects"], correction["total"], correction["document"]) == (first["number"], "2.66", "invoice")
    found = (await asked.ask("owner of A", "GET", f"{INVOICES}/{first['number']}")).json()
    assert (found["balance"]["open"], found["corrections"]) == ("15.00", [correction["number"]])
    assert [entry.follows for entry in await billed(asked) if isinstance(entry, InvoiceIssued)] == ["", first["number"]]


@pytest.mark.req("P3")
async def test_credits_and_payments_settle_an_invoice(asked: Asked) -> None:
    [first] = await issue(asked, charges(asked.gcid("Aster/Private")))
    path = f"{INVOICES}/{first['number']}"
    wish = {"amount": "2.30", "reason": "an hour without service"}
    note = await asked.ask("operator", "POST", f"{path}/credits", wish)
    assert (note.status_code, note.json()["total"], note.json()["document"]) == (201, "-2.30", "credit note")
    assert note.headers["location"] == f"{INVOICES}/{PERIOD}-0002"
    paid = await asked.ask("operator", "POST", f"{path}/payments", {"amount": "10", "reference": "bank 7"})
    assert (paid.status_code, paid.json()["invoice"]["open"]) == (201, "0.04")
    assert paid.json()["payment"]["id"] == f"{first['number']}/1"
    [late] = (await asked.ask("operator", "GET", f"{INVOICES}?overdueOn=2999-01-01")).json()["items"]
    assert (late["number"], late["state"]) == (first["number"], "overdue")
    await asked.ask("operator", "POST", f"{path}/payments", {"amount": "0.04"})
    assert (await asked.ask("owner of A", "GET", INVOICES)).json()["items"][0]["state"] == "settled"
    assert [type(entry) for entry in await billed(asked)] == [
        InvoiceIssued, InvoiceCredited, PaymentRecorded, PaymentRecorded,
    ]  # fmt: skip


@pytest.mark.req("P3")
@pytest.mark.parametrize(
    ("action", "wish", "other"),
    [
        ("credits", {"amount": "1", "reason": "late"}, {"amount": "2", "reason": "late"}),
        ("payments", {"amount": "1"}, {"amount": "1", "reference": "another"}),
    ],
)
async def test_a_repeated_request_records_nothing_again(
    asked: Asked, action: str, wish: dict[str, Any], other: dict[str, Any]
) -> None:
    [first] = await issue(asked, charges(asked.gcid("Aster/Private")))
    path = f"{INVOICES}/{first['number']}/{action}"
    answers = await asyncio.gather(
        *(asked.ask("operator", "POST", path, wish, Idempotency_Key="k 1") for _ in range(3))
    )
    assert [one.status_code for one in answers] == [201] * 3
    assert answers[0].json() == answers[1].json() == answers[2].json()
    assert len(await billed(asked)) == 2
    refused = await asked.ask("operator", "POST", path, other, Idempotency_Key="k 1")
    assert (refused.status_code, refused.json()["code"]) == (422, "idempotency.mismatch")
    await asked.ask("operator", "POST", path, wish, Idempotency_Key="k 2")
    assert len(await billed(asked)) == 3


@pytest.mark.req("P3", "Z5")
async def test_an_organization_never_sees_the_bills_of_another(asked: Asked) -> None:
    gcid = asked.gcid("Aster/Private")
    mine, others = await issue(asked, charges(gcid), charges(gcid, organization="Birch"))
    for who in MEMBERS:
        listed = await asked.ask(who, "GET", INVOICES)
        assert [one["number"] for one in listed.json()["items"]] == [mine["number"]]
        assert (await asked.ask(who, "GET", f"{INVOICES}/{mine['number']}")).status_code == 200
        assert (await asked.ask(who, "GET", f"{INVOICES}/{others['number']}")).status_code == 404
        assert (await asked.ask(who, "GET", f"{INVOICES}?organization=Birch")).status_code == 404
        assert (await asked.ask(who, "GET", "/v1/billing/usage?organization=Birch")).status_code == 404
    for who in STRANGERS:
        assert (await asked.ask(who, "GET", f"{INVOICES}/{mine['number']}")).status_code == 404
        assert mine["number"] not in (await asked.ask(who, "GET", INVOICES)).text
    listed = await asked.ask("operator", "GET", INVOICES)
    assert [one["organization"] for one in listed.json()["items"]] == ["Aster", "Birch"]


async def test_a_mistyped_organization_is_not_said_to_have_no_invoices(asked: Asked) -> None:
    refused = await asked.ask("operator", "GET", f"{INVOICES}?organization=Astr")
    assert (refused.status_code, refused.json()["detail"]) == (
        404,
        "Organization 'Astr' does not exist. Did you mean 'Aster'?",
    )


@pytest.mark.parametrize("who", [*MEMBERS, *STRANGERS])
async def test_only_operators_issue_credit_and_record_payments(asked: Asked, who: str) -> None:
    [first] = await issue(asked, charges(asked.gcid("Aster/Private")))
    for number in (first["number"], "2026-09-0999"):
        for action, wish in (("credits", {"amount": "1", "reason": "x"}), ("payments", {"amount": "1"})):
            assert (await asked.ask(who, "POST", f"{INVOICES}/{number}/{action}", wish)).status_code == 403
    assert (await asked.ask(who, "POST", INVOICES, {"period": PERIOD})).status_code == 403
    assert len(await billed(asked)) == 1


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"period": "2999-01", "counted": {"through": 7, "latest": LATE, "accounts": []}}, "value.invalid"),
        ({"period": PERIOD, "counted": {"through": 0, "latest": 0, "accounts": []}}, "billing.not-counted"),
        ({"period": PERIOD}, "billing.not-counted"),
        ({"period": "2026-13"}, "value.invalid"),
        ({"period": "0000-01", "counted": {"through": 7, "latest": LATE, "accounts": []}}, "value.invalid"),
        ({"period": "9999-12", "counted": {"through": 7, "latest": LATE, "accounts": []}}, "value.invalid"),
    ],
)
async def test_a_month_is_issued_when_it_is_over_and_counted(asked: Asked, wish: dict[str, Any], code: str) -> None:
    refused = await asked.ask("operator", "POST", INVOICES, wish)
    assert refused.json()["code"] == code, refused.text


@pytest.mark.parametrize("amount", ["0", "-1", "0.001", "many", "NaN", "1e3000"])
async def test_a_credit_is_an_amount_that_can_be_paid(asked: Asked, amount: str) -> None:
    [first] = await issue(asked, charges(asked.gcid("Aster/Private")))
    wish = {"amount": amount, "reason": "x"}
    refused = await asked.ask("operator", "POST", f"{INVOICES}/{first['number']}/credits", wish)
    assert (refused.status_code, refused.json()["code"]) == (422, "value.invalid")


@pytest.mark.req("P3")
async def test_numbers_continue_those_that_were_recorded_as_configuration(asked: Asked) -> None:
    line = {"kind": "message", "part": "originator", "quantity": 3, "micros": 1_500_000, "amount": "1.50"}
    old = {
        "organization": "Aster", "period": PERIOD, "currency": "EUR", "issuedOn": "2026-10-02",
        "dueOn": "2026-11-02", "seller": "The network", "through": 5, "total": "1.50", "lines": [line],
    }  # fmt: skip
    paid = {"invoice": f"{PERIOD}-0004", "amount": "0.50", "currency": "EUR", "receivedOn": "2026-10-05"}
    records = {"invoices": {f"{PERIOD}-0004": old}, "payments": {f"{PERIOD}-0004/1": paid}}
    assert (await apply(asked, "operator", {"postroad": 1, "billing": records})).status_code == 200
    gcid = asked.gcid("Aster/Private")
    correction, first = await issue(asked, charges(gcid), charges(gcid, organization="Birch"))
    assert (correction["number"], correction["corrects"], correction["total"]) == (
        f"{PERIOD}-0005",
        f"{PERIOD}-0004",
        "10.84",
    )
    assert first["number"] == f"{PERIOD}-0006"
    path = f"{INVOICES}/{PERIOD}-0004/payments"
    again = await asked.ask("operator", "POST", path, {"amount": "11.84"})
    assert (again.json()["payment"]["id"], again.json()["invoice"]["open"]) == (f"{PERIOD}-0004/2", "0.00")
    third = old | {"corrects": f"{PERIOD}-0004"}
    document = {"postroad": 1, "billing": {"invoices": {f"{PERIOD}-0005": third}}}
    taken = await asked.ask("operator", "POST", PLAN, {"document": document, "prune": False})
    assert taken.status_code == 409, "a number of an entry is taken for documents, too"


@pytest.mark.req("P3")
async def test_the_journal_the_index_and_memory_have_the_same_records(asked: Asked) -> None:
    gcid = asked.gcid("Aster/Private")
    [first] = await issue(asked, charges(gcid))
    await asked.ask("operator", "POST", f"{INVOICES}/{first['number']}/credits", {"amount": "1", "reason": "x"})
    await asked.ask("operator", "POST", f"{INVOICES}/{first['number']}/payments", {"amount": "1"})
    network = asked.running.network
    await network.wait_until_indexed()
    indexed: Directory = decode_directory_rows(await network.index.query("objects"))
    known = read_records(await entries(asked))
    for directory in (indexed, network.directory):
        assert directory.billing["invoice"] == known.invoices
        assert directory.billing["payment"] == known.payments


@pytest.mark.req("P3")
async def test_members_read_usage_and_running_total(tmp_path: Path) -> None:
    async with asked_network(settings=Settings(warehouse=str(tmp_path))) as asked:
        services = dict.fromkeys(("buyer", "seller", "stamper"), asked.gcid("Aster/Private"))
        known = Counted(organization="Aster", services=services, sessions=["01a0f57532f1" + "0" * 20] * 30)
        known.write(tmp_path)
        path = f"/v1/billing/usage?period={known.period}"
        found = (await asked.ask("viewer of A", "GET", path)).json()
        assert [(one["total"], one["currency"]) for one in found["running"]] == [("0.38", "EUR")]
        assert {one["organization"] for one in found["usage"]} == {"Aster"}
        used = next(one for one in found["usage"] if one["role"] == "recipient")
        assert used.keys() == {
            "organization", "service", "role", "day", "sizeClass", "messages", "bytes", "kilobytes",
        }  # fmt: skip
        assert len((await asked.ask("operator", "GET", path)).json()["running"]) == 2
        assert (await asked.ask("owner of B", "GET", path)).json()["running"] == []
        assert (await asked.ask("service of A", "GET", path)).status_code == 403
