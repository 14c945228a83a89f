"""Billing records for the command line: read from the network's index, written through its server.

Rule: records are written like all configuration: planned, applied as a whole, and refused on a version conflict. So
an invoice number is never assigned twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from postroad.adapters.index.postgres import PostgresIndex
from postroad.adapters.index.sqlite import SqliteReader
from postroad.bootstrap.running_network import INDEX_FILE
from postroad.bootstrap.settings import Settings
from postroad.cli.framework.connection import NetworkConnection
from postroad.core.configuration.entries.billing_records import invoice_entry, payment_entry
from postroad.core.model.billing import Invoice, Payment
from postroad.core.model.journal import ObjectChange
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

SEEN_WITHIN_S = 10.0  # the index follows the journal within moments
CHECK_EVERY_S = 0.05


class BillingRecords:
    """The invoices and payments in the index; empty when there is no index."""

    def __init__(self, directory: Directory, head: int) -> None:
        self.directory = directory
        self.head = head  # the last journal entry that the index knows
        self.invoices: dict[str, Invoice] = dict(directory.billing.get("invoice", {}))
        self.payments: dict[str, Payment] = dict(directory.billing.get("payment", {}))

    @classmethod
    def read(cls, settings: Settings) -> BillingRecords:
        rows, head = asyncio.run(_objects(settings))
        changes = [
            ObjectChange(kind, key, number, msgspec.json.decode(value) if value else None)
            for kind, key, number, value, *_ in rows
        ]
        return cls(Directory().changed(changes, head), head)

    def of(self, period: str = "", organization: str = "") -> list[Invoice]:
        """Return the documents of a month and an organization, in the order of their numbers."""
        return [
            item
            for _, item in sorted(self.invoices.items())
            if period in ("", item.period) and organization.casefold() in ("", item.organization.casefold())
        ]

    def named(self, number: str) -> Invoice:
        """Return the invoice with this number, or the one that this document corrects."""
        found = self.invoices.get(number)
        if found is None:
            raise Refused("not-found", f"Invoice {number} does not exist; `postroad billing invoices` lists them")
        return self.invoices[found.root]

    def next_numbers(self, period: str) -> Iterable[str]:
        ends = [item.number.removeprefix(f"{period}-") for item in self.of(period)]
        number = max((int(end) for end in ends if end.isdecimal()), default=0)
        while True:
            number += 1
            yield f"{period}-{number:04d}"

    def next_payment(self, invoice: str) -> str:
        return f"{invoice}/{1 + sum(item.invoice == invoice for item in self.payments.values())}"


def write_records(connection: NetworkConnection, settings: Settings, records: Sequence[Invoice | Payment]) -> None:
    """Write these records to the journal, all or none, and wait until the index has them."""
    invoices = {item.number: invoice_entry(item) for item in records if isinstance(item, Invoice)}
    payments = {item.id: payment_entry(item) for item in records if isinstance(item, Payment)}
    document = {"postroad": 1, "billing": {"invoices": invoices, "payments": payments}}
    with connection.client() as client:
        client.apply(document, version=client.plan(document).version)
    deadline = time.monotonic() + SEEN_WITHIN_S
    while time.monotonic() < deadline:
        seen = BillingRecords.read(settings)
        if invoices.keys() <= seen.invoices.keys() and payments.keys() <= seen.payments.keys():
            return
        time.sleep(CHECK_EVERY_S)


async def _objects(settings: Settings) -> tuple[Sequence[Any], int]:
    if settings.index == "postgres":
        index = await PostgresIndex.open(settings.postgres)
        try:
            return await index.query("objects"), (await index.position()).seq
        finally:
            await index.close()
    if not (settings.data / INDEX_FILE).exists():
        return [], 0
    reader = SqliteReader(settings.data / INDEX_FILE, threads=1)
    try:
        return await reader.query("objects"), (await reader.position()).seq
    finally:
        await reader.close()
