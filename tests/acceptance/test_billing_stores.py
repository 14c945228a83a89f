"""Bills on both stores: two nodes that issue at the same moment, answers that are lost, servers that are killed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from postroad.bootstrap import RunningNetwork, open_network, read_settings
from postroad.client import Access, Client, Retrying
from postroad.core.billing.invoices import InvoiceAccount, LineTotal
from postroad.core.billing.issuing import CountedAccount, CountedMonth
from postroad.core.billing.records import BillingRecords, read_records
from postroad.core.model.billing import Invoice, LineKey, Payment
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Person
from postroad.core.model.journal import decode
from postroad.errors import Unavailable
from postroad.flow.administration.billing import credit_invoice, issue_invoices, record_payment
from postroad.testing.server import ServerProcess
from tests.acceptance.lossy_proxy import lossy
from tests.samples.index_tables import tables
from tests.samples.served_network import json_lines, succeeded

PERIOD, LATE = "2026-09", 2**52
OPERATOR = Caller(person=Person(email="ada@network.example", operator=True))
LINE = LineKey("message", "originator", "a" * 16, "standard/2026-01")
ACCOUNTS = tuple(InvoiceAccount(f"House {number}", PERIOD, "EUR") for number in range(8))
COUNTED = CountedMonth(
    through=1,
    latest_us=LATE,
    accounts={
        account: CountedAccount(sums={LINE: LineTotal(1, 1, 9_990_000)}, tariffs={LINE.tariff: 1})
        for account in ACCOUNTS
    },
)
CHARGES = {
    "through": 1,
    "latest": LATE,
    "accounts": [
        {
            "organization": "Acme",
            "currency": "EUR",
            "tariffs": {LINE.tariff: 1},
            "lines": [LINE._asdict() | {"quantity": 1, "kilobytes": 1, "micros": 9_990_000}],
        }
    ],
}


async def journal_records(node: RunningNetwork) -> BillingRecords:
    batch = await node.network.journal.read(0)
    return read_records([decode(record.facts) for record in batch.records])


@pytest.mark.req("P3", "O3")
async def test_two_nodes_that_issue_at_the_same_moment_bill_each_account_once(
    tmp_path: Path, postgres_database: str
) -> None:
    shared = {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}
    async with AsyncExitStack() as stack:
        nodes = [
            await stack.enter_async_context(
                open_network(
                    read_settings(
                        file=Path(os.devnull), environment={}, overrides={**shared, "data": str(tmp_path / name)}
                    )
                )
            )
            for name in ("one", "two")
        ]
        networks = [node.network for node in nodes]
        issued = await asyncio.gather(*(issue_invoices(network, OPERATOR, PERIOD, COUNTED) for network in networks * 2))
        numbers = sorted(document.number for documents in issued for document in documents)
        assert numbers == [f"{PERIOD}-{number:04d}" for number in range(1, len(ACCOUNTS) + 1)]
        first = numbers[0]
        noted: list[Invoice | Payment] = await asyncio.gather(
            *(credit_invoice(network, OPERATOR, first, "1", "late") for network in networks),
            *(record_payment(network, OPERATOR, first, "2") for network in networks),
        )
        assert {item.id for item in noted if isinstance(item, Payment)} == {f"{first}/1", f"{first}/2"}
        assert {item.number for item in noted if isinstance(item, Invoice)} == {f"{PERIOD}-0009", f"{PERIOD}-0010"}
        again = await asyncio.gather(
            *(record_payment(network, OPERATOR, first, "3", request="one transfer") for network in networks)
        )
        assert again[0] == again[1]
        records = await journal_records(nodes[0])
        assert (len(records.invoices), len(records.payments)) == (len(ACCOUNTS) + 2, 3)
        balance = records.balance(records.invoices[first])
        assert (str(balance.charged), str(balance.paid)) == ("7.99", "7.00")
        for network in networks:
            await network.wait_until_indexed()
            await network.configuration.load()
            known = BillingRecords.of_directory(network.directory)
            assert (known.invoices, known.payments) == (records.invoices, records.payments)


@pytest.fixture(params=["embedded", "shared"])
def settings(request: pytest.FixtureRequest, postgres_database: str) -> dict[str, Any]:
    if request.param == "embedded":
        return {}
    return {"acceptance": "shared", "index": "postgres", "secret": "5e" * 32, "postgres": postgres_database}


@pytest.fixture
def server(settings: dict[str, Any], tmp_path: Path) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path / "data", settings) as started:
        yield started


@pytest.mark.req("P3")
def test_a_server_killed_between_issue_and_answer_has_issued_once(
    server: ServerProcess, settings: dict[str, Any]
) -> None:
    with lossy(server.url) as proxy:
        access = Access.with_key(proxy.url, server.operator_key)
        with Client(access=access, retrying=Retrying(tries=1)) as client:
            proxy.losing = 1
            with pytest.raises(Unavailable):
                client.billing.issue(PERIOD, counted=CHARGES)
        server.kill()
        server.start()
        with Client(access=access) as client:
            assert client.billing.issue(PERIOD, counted=CHARGES).items == []
            [invoice] = client.billing.invoices()
            assert (invoice.number, invoice.open) == (f"{PERIOD}-0001", "9.99")
            proxy.losing = 1
            paid = client.billing.pay(invoice.number, "4.00", reference="bank 7")
            proxy.losing = 1
            note = client.billing.credit(invoice.number, "1.99", "a day without service")
            assert proxy.lost == 3
        server.kill()
        server.start()
        with Client(access=access) as client:
            found = client.billing.invoice(invoice.number)
    assert (found.balance.open, found.corrections) == ("4.00", [note.number])
    assert [one.id for one in found.payments] == [paid.payment.id]
    before = [found, *_listed(server, settings)]
    assert server.stop() == 0, server.log
    environment = {f"POSTROAD_{name.upper()}": str(value) for name, value in settings.items()}
    kept = asyncio.run(tables(server.data)) if not settings else {}
    succeeded("index", "rebuild", "--data", server.data, environment=environment)
    succeeded("verify", "--data", server.data, environment=environment)
    assert (asyncio.run(tables(server.data)) if not settings else {}) == kept
    server.start()
    with Client(server.url, server.operator_key) as client:
        assert [client.billing.invoice(invoice.number), *_listed(server, settings)] == before


def _listed(server: ServerProcess, settings: dict[str, Any]) -> list[Any]:
    environment = {f"POSTROAD_{name.upper()}": str(value) for name, value in settings.items()}
    return json_lines(succeeded("billing", "invoices", "--json", "--data", server.data, environment=environment))
