"""Tariffs, books and records in a document: read strictly, planned like everything else, and records never changed."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.core.billing.tariffs import tariffs_by_organization
from postroad.core.configuration.change_plan import StepAction
from postroad.core.configuration.document import NetworkDocument, read_document
from postroad.core.configuration.sections.organization import export_document
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from tests.samples.plans import applied, planned

pytestmark = pytest.mark.req("N13", "P3")

HOUSES: dict[str, Any] = {"MyBiz": {"services": {"orders": {}}}, "XpandiCo": {"services": {"zipPlus4": {}}}}
STANDARD = {
    "from": "2026-10",
    "currency": "EUR",
    "message": {
        "perMessage": [{"upTo": 1000, "price": "0.0125"}, {"price": "0.01"}],
        "perKilobyte": "0.001",
        "freeMessages": 100,
        "shares": {"originator": 70, "recipient": 30},
    },
    "invocation": {"perMessage": "0.02", "vendorPercent": 60},
    "services": {"XpandiCo/zipPlus4": {"perMessage": "0.05", "vendorPercent": 80}},
    "freeTypes": ["response"],
}
INVOICE = {
    "organization": "MyBiz", "period": "2026-10", "currency": "EUR", "issuedOn": "2026-11-02", "dueOn": "2026-12-02",
    "seller": "The network", "through": 99, "total": "1.50",
    "lines": [{"kind": "message", "part": "originator", "quantity": 3, "micros": 1500000, "amount": "1.50"}],
}  # fmt: skip
PLACE = "/billing/tariffs/standard/0"
PAYMENT = {"invoice": "2026-10-0001", "amount": "1.00", "currency": "EUR", "receivedOn": "2026-11-05"}


def document(**billing: Any) -> dict[str, Any]:
    return {"postroad": 1, "organizations": HOUSES, "billing": billing}


def network(**billing: Any) -> Directory:
    return applied(planned(document(**billing), Directory()), Directory())


def with_rate(**rate: Any) -> dict[str, Any]:
    return document(tariffs={"standard": [{"from": "2026-10", "currency": "EUR", "message": rate}]})


def faults(content: dict[str, Any], directory: Directory | None = None) -> list[tuple[str, str]]:
    read = read_document(content)
    found = read if isinstance(read, list) else planned(content, directory or Directory()).faults
    return [(fault.pointer, fault.detail) for fault in found]


def test_a_plan_of_prices_for_a_new_service_is_the_same_twice() -> None:
    content = document(tariffs={"standard": [STANDARD]})
    one, other = (
        planned(content, Directory(), fresh_ids=iter(ids)) for ids in (["a" * 16, "b" * 16], ["c" * 16, "d" * 16])
    )
    assert one.version == other.version


def test_a_price_of_a_service_that_has_gone_stays_until_it_is_taken_out() -> None:
    directory = network(tariffs={"standard": [STANDARD]})
    service = directory.service("XpandiCo/zipPlus4")
    assert service is not None
    without = directory.apply_changes([ObjectChange("service", service.gcid, 2, None)], directory.version + 1)
    exported = export_document(without, ["MyBiz", "XpandiCo"], billing=True)
    found = planned(exported, without, prune=True)
    assert (found.steps, found.faults) == ((), ())
    unknown = STANDARD | {"services": {"f" * 16: {"perMessage": "1"}}}
    assert (f"{PLACE}/services/{'f' * 16}", "the service does not exist") in faults(
        document(tariffs={"standard": [unknown]}), without
    )


def test_a_tariff_is_planned_saved_exported_and_applying_that_changes_nothing() -> None:
    books = {"seller": "Postroad Ltd", "timeZone": "Europe/Berlin", "dueDays": 14}
    directory = network(tariffs={"standard": [STANDARD]}, books=books)
    (tariff,) = directory.tariffs
    assert tariff.services.keys() == {directory.service("XpandiCo/zipPlus4").gcid}  # type: ignore[union-attr]
    exported = export_document(directory, ["MyBiz", "XpandiCo"], billing=True)
    assert exported["billing"] == {"books": books, "tariffs": {"standard": [STANDARD]}}
    assert planned(exported, directory, prune=True).steps == ()
    assert "billing" not in export_document(directory, ["MyBiz"])


def test_a_tariff_spells_organizations_as_the_directory_does() -> None:
    (tariff,) = network(tariffs={"own": [STANDARD | {"organizations": ["MYBIZ"]}]}).tariffs
    assert tariff.organizations == ("MyBiz",)


def test_a_change_is_told_field_by_field_and_pruning_removes_only_tariffs_of_documents_that_speak_of_them() -> None:
    directory = network(
        tariffs={"standard": [STANDARD], "old": [STANDARD | {"until": "2026-10", "organizations": ["MyBiz"]}]}
    )
    cheaper = STANDARD | {"invocation": {"perMessage": "0.01"}}
    (step,) = planned(document(tariffs={"standard": [cheaper]}), directory).steps
    assert (step.action, step.kind, step.name) == (StepAction.CHANGE, "tariff", "standard from 2026-10")
    assert [(change.field, change.after) for change in step.fields] == [("invocation", {"perMessage": "0.01"})]
    pruned = planned(document(tariffs={"standard": [STANDARD]}), directory, prune=True).steps
    assert [(step.action, step.name) for step in pruned] == [(StepAction.REMOVE, "old from 2026-10")]
    assert planned(document(books={}), directory, prune=True).count(StepAction.REMOVE) == 0


@pytest.mark.parametrize(
    ("rate", "place", "detail"),
    [
        ({"perMessage": 0.05}, "perMessage", "in quotes"),
        ({"perMessage": "0.0000001"}, "perMessage", "match pattern"),
        ({"perMessage": [{"price": "1"}, {"price": "2"}]}, "", "every tier but the last has upTo"),
        ({"perMessage": [{"upTo": 5, "price": "1"}, {"upTo": 5, "price": "1"}, {"price": "2"}]}, "", "greater than"),
        ({"shares": {"originator": 50}}, "shares", "add up to 100 percent"),
        ({"freeMessages": -1}, "freeMessages", "greater than or equal to 0"),
    ],
)
def test_a_price_that_cannot_be_meant_is_refused(rate: dict[str, Any], place: str, detail: str) -> None:
    found = faults(with_rate(**rate))
    assert any(pointer.startswith(f"/billing/tariffs/standard/0/message/{place}".rstrip("/")) for pointer, _ in found)
    assert any(detail in text for _, text in found)


@pytest.mark.parametrize(
    ("billing", "detail"),
    [
        (
            {"tariffs": {"a": [STANDARD], "b": [STANDARD]}},
            "in 2026-10 the tariff a also applies to all other organizations",
        ),
        ({"tariffs": {"a": [STANDARD, STANDARD]}}, "two versions apply from the same month"),
        ({"tariffs": {"a": [STANDARD | {"organizations": ["Nobody"]}]}}, "organization Nobody does not exist"),
        ({"tariffs": {"a": [STANDARD | {"services": {"No/one": {}}}]}}, "the service does not exist"),
        ({"tariffs": {"a": [STANDARD | {"until": "2026-09"}]}}, "until is before from"),
        ({"books": {"timeZone": "Mars/Olympus"}}, "must name a time zone"),
        ({"payments": {"p1": PAYMENT}}, "invoice 2026-10-0001 does not exist in EUR"),
        ({"invoices": {"2026-10-0001": INVOICE | {"total": "1.49"}}}, "the sum of the lines differs"),
        ({"invoices": {"2026-10-0001": INVOICE | {"currency": "JPY"}}}, "JPY has 0 decimals"),
        ({"invoices": {"2026-10-0001": INVOICE | {"dueOn": "2026-11-31"}}}, "day is out of range"),
        ({"invoices": {"2026-10-0002": INVOICE | {"corrects": "2026-10-0001"}}}, "invoice 2026-10-0001 does not exist"),
    ],
)
def test_what_contradicts_itself_is_refused(billing: dict[str, Any], detail: str) -> None:
    assert any(detail in text for _, text in faults(document(**billing))), faults(document(**billing))


def test_records_are_added_and_never_changed() -> None:
    directory = network(invoices={"2026-10-0001": INVOICE}, payments={"p1": PAYMENT})
    assert planned(document(invoices={"2026-10-0001": INVOICE}, payments={"p1": PAYMENT}), directory).steps == ()
    assert planned(document(tariffs={}), directory, prune=True).steps == ()
    changed = document(
        invoices={"2026-10-0001": INVOICE | {"seller": "Somebody"}}, payments={"p1": PAYMENT | {"amount": "2.00"}}
    )
    assert [pointer for pointer, text in faults(changed, directory) if "is immutable" in text] == [
        "/billing/invoices/2026-10-0001", "/billing/payments/p1",
    ]  # fmt: skip
    assert "billing" not in export_document(directory, ["MyBiz"], billing=True)


def test_the_zone_of_the_books_stays_once_invoices_were_issued() -> None:
    directory = network(invoices={"2026-10-0001": INVOICE}, books={"timeZone": "Europe/Berlin"})
    assert faults(document(books={"timeZone": "UTC"}), directory)[0][0] == "/billing/books/timeZone"
    assert faults(document(books={"timeZone": "Europe/Berlin", "dueDays": 5}), directory) == []


def test_a_version_ends_where_the_next_one_begins() -> None:
    later = STANDARD | {"from": "2027-01", "currency": "USD"}
    directory = network(tariffs={"standard": [STANDARD, later]})
    currencies = [
        tariffs_by_organization(directory.tariffs, month).get("") for month in ("2026-09", "2026-12", "2027-01")
    ]
    assert [found.currency if found else "" for found in currencies] == ["", "EUR", "USD"]


def test_the_document_without_billing_is_as_it_was() -> None:
    assert isinstance(read_document({"postroad": 1}), NetworkDocument)
