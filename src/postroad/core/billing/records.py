"""The issued documents and payments of a network, and the numbers of the next ones.

Rule: records come from two kinds of journal entries: those of billing, and configuration changes of earlier versions.
Both give the same records, and numbers continue across them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from postroad.core.billing.balances import Balance, balances
from postroad.core.billing.invoices import InvoiceAccount
from postroad.core.model.billing import Invoice, Payment
from postroad.core.model.billing_entries import BillingJournalEntry, billing_record
from postroad.core.model.configuration_objects import stored_object
from postroad.core.model.journal import ConfigurationChanged, Entry
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

KINDS = ("invoice", "payment")


@dataclass(frozen=True, slots=True, kw_only=True)
class BillingRecords:
    """Issued documents by number, and payments by id."""

    invoices: Mapping[str, Invoice] = field(default_factory=dict)
    payments: Mapping[str, Payment] = field(default_factory=dict)

    @classmethod
    def of_directory(cls, directory: Directory) -> BillingRecords:
        invoices, payments = (directory.billing.get(kind, {}) for kind in KINDS)
        return cls(invoices=invoices, payments=payments)

    def documents(self, period: str = "", organization: str = "") -> list[Invoice]:
        """Return the documents of a month and an organization, in the order of their numbers."""
        return [
            item
            for _, item in sorted(self.invoices.items())
            if period in ("", item.period) and organization.casefold() in ("", item.organization.casefold())
        ]

    def balances(self, period: str = "", organization: str = "") -> list[Balance]:
        """Return the balance of each invoice of a month and an organization, by number."""
        return balances(self.documents(period, organization), self.payments.values())

    def balance(self, document: Invoice) -> Balance:
        """Return the balance of an invoice, or of the invoice that this document corrects."""
        related = [item for item in self.invoices.values() if item.root == document.root]
        (found,) = balances(related, self.payments.values())
        return found

    def root(self, number: str) -> Invoice:
        """Return the invoice with this number, or the one that this document corrects."""
        found = self.invoices.get(number)
        if found is None:
            raise Refused("not-found", f"Invoice {number} does not exist; `postroad billing invoices` lists them")
        return self.invoices[found.root]

    def find_by_request(self, request: str) -> Invoice | Payment | None:
        """Return the record that a request with this Idempotency-Key has made, or None."""
        known: list[Invoice | Payment] = [*self.invoices.values(), *self.payments.values()] if request else []
        return next((item for item in known if item.request == request), None)

    def accounts(self, period: str) -> dict[InvoiceAccount, list[Invoice]]:
        """Return the documents of each account of a month, in the order of their numbers."""
        found: dict[InvoiceAccount, list[Invoice]] = {}
        for item in self.documents(period):
            found.setdefault(account_of(item), []).append(item)
        return found

    def newest(self, account: InvoiceAccount) -> str:
        """Return the number of the account's newest document; empty if it has none."""
        return newest_number(item for item in self.invoices.values() if account_of(item) == account)

    def next_numbers(self, period: str) -> Iterator[str]:
        """Yield the numbers of the next documents of a month."""
        ends = [item.number.removeprefix(f"{period}-") for item in self.documents(period)]
        number = max((int(end) for end in ends if end.isdecimal()), default=0)
        while True:
            number += 1
            if f"{period}-{number:04d}" not in self.invoices:
                yield f"{period}-{number:04d}"

    def next_payment(self, invoice: str) -> str:
        """Return the id of the next payment for an invoice."""
        number = 1 + sum(item.invoice == invoice for item in self.payments.values())
        while f"{invoice}/{number}" in self.payments:
            number += 1
        return f"{invoice}/{number}"


def account_of(document: Invoice) -> InvoiceAccount:
    return InvoiceAccount(document.organization, document.period, document.currency)


def newest_number(documents: Iterable[Invoice]) -> str:
    """Return the highest number of these documents; empty if there is none."""
    return max((item.number for item in documents), key=lambda number: (len(number), number), default="")


def read_records(entries: Iterable[Entry]) -> BillingRecords:
    """Read all billing records from the entries of a journal, whichever kind of entry they are in."""
    invoices: dict[str, Invoice] = {}
    payments: dict[str, Payment] = {}
    for record in _records(entries):
        if isinstance(record, Invoice):
            invoices[record.number] = record
        else:
            payments[record.id] = record
    return BillingRecords(invoices=invoices, payments=payments)


def _records(entries: Iterable[Entry]) -> Iterator[Invoice | Payment]:
    for entry in entries:
        if isinstance(entry, ConfigurationChanged):
            for change in entry.objects:
                if change.kind in KINDS and change.value is not None:
                    yield stored_object(change.kind, change.value)
        elif isinstance(entry, BillingJournalEntry):
            yield billing_record(entry)
