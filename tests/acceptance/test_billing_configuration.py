"""Tariffs, invoices and payments over HTTP: operators' business, on record for good, and nobody else's to see."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import jsonschema
import pytest

from postroad.core.model.journal import ConfigurationChanged, decode
from tests.acceptance.asking import Asked, asked_network
from tests.acceptance.test_directory_configuration import APPLY, PLAN, apply, export

pytestmark = pytest.mark.req("P3", "N13")

TARIFFS = {"standard": [{"from": "2026-10", "currency": "EUR", "message": {"perMessage": "0.01"}}]}
LINE = {"kind": "message", "part": "originator", "quantity": 3, "micros": 1_500_000, "amount": "1.50"}
INVOICE = {
    "organization": "Aster", "period": "2026-10", "currency": "EUR", "issuedOn": "2026-11-02", "dueOn": "2026-12-02",
    "seller": "The network", "through": 99, "total": "1.50", "lines": [LINE],
}  # fmt: skip
PAYMENT = {"invoice": "2026-10-0001", "amount": "1.50", "currency": "EUR", "receivedOn": "2026-11-05"}


def document(**billing: Any) -> dict[str, Any]:
    return {"postroad": 1, "billing": billing}


@pytest.fixture
async def asked() -> AsyncIterator[Asked]:
    async with asked_network() as network:
        yield network


@pytest.mark.parametrize("who", ["owner of A", "developer of A", "viewer of A", "service of A"])
@pytest.mark.parametrize("billing", [{}, {"tariffs": TARIFFS}, {"payments": {"p1": PAYMENT}}])
async def test_billing_is_for_operators(asked: Asked, who: str, billing: dict[str, Any]) -> None:
    response = await asked.ask(who, "POST", PLAN, {"document": document(**billing), "prune": False})
    assert response.status_code == 403
    wish = {"document": document(**billing), "prune": False, "version": "0" * 32}
    assert (await asked.ask(who, "POST", APPLY, wish)).status_code == 403


async def test_operators_export_tariffs_and_others_do_not_see_them(asked: Asked) -> None:
    assert (await apply(asked, "operator", document(tariffs=TARIFFS))).status_code == 200
    exported = await export(asked, "operator")
    assert exported["billing"] == {"tariffs": TARIFFS}
    schema = (await asked.ask("anonymous", "GET", "/v1/configuration/schema")).json()
    jsonschema.validate(exported, schema)
    assert "billing" not in await export(asked, "owner of A")


async def test_an_invoice_and_its_payment_are_facts_that_stay(asked: Asked) -> None:
    records = document(invoices={"2026-10-0001": INVOICE}, payments={"2026-10-0001/1": PAYMENT})
    head = await asked.running.network.journal.head()
    assert (await apply(asked, "operator", records)).status_code == 200
    batch = await asked.running.network.journal.read(head.seq)
    (entry,) = [decode(record.facts) for record in batch.records]
    assert isinstance(entry, ConfigurationChanged)
    assert [(change.kind, change.key, change.version) for change in entry.objects] == [
        ("invoice", "2026-10-0001", 1), ("payment", "2026-10-0001/1", 1),
    ]  # fmt: skip
    changed = document(invoices={"2026-10-0001": INVOICE | {"seller": "Somebody else"}})
    refused = await asked.ask("operator", "POST", PLAN, {"document": changed, "prune": False})
    assert refused.status_code == 409
    assert "is immutable" in refused.text
    again = await apply(asked, "operator", records, prune=True)
    assert again.json()["steps"] == []
