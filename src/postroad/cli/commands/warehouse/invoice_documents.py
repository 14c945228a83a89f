"""Invoices and corrections that are due, and invoices written as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from postroad.bootstrap.settings import Settings
from postroad.cli.commands.warehouse.billing_records import BillingRecords
from postroad.cli.commands.warehouse.pipeline_steps import journal_source, warehouse_folder
from postroad.cli.framework.spark import require_warehouse
from postroad.core.billing.calendar import period_us
from postroad.core.billing.charges import UNKNOWN
from postroad.core.billing.invoice_rows import as_csv, as_value
from postroad.core.billing.invoices import InvoiceAccount, InvoiceIssue, make_correction, make_invoice
from postroad.core.billing.ubl import invoice_ubl
from postroad.core.model.billing import Invoice
from postroad.errors import Refused

if TYPE_CHECKING:
    from postroad.warehouse.billing.ledger import AccountDraft, BillingLedger

REASON = "use counted after the invoice was issued"
FORMATS = ("csv", "json", "ubl")


def open_ledger(settings: Settings, folder: Path | None) -> BillingLedger:
    """Open the warehouse's billing tables."""
    require_warehouse()
    from postroad.warehouse.billing.ledger import BillingLedger

    return BillingLedger(warehouse_folder(settings, folder).absolute())


def journal_reader(settings: Settings) -> Callable[[int], Iterable[tuple[int, bytes, int]]]:
    """Return a function that reads the journal's entries up to a number, from the start at each call."""
    from postroad.warehouse.sources.log_source import EntrySpan

    source = journal_source(settings)
    return lambda upto: source.records(EntrySpan(0, upto))


def find_due_documents(
    period: str, ledger: BillingLedger, records: BillingRecords, on: date, reason: str = REASON
) -> Iterator[Invoice]:
    """Find the invoices that a month still lacks, and corrections of invoices that are no longer right."""
    numbers = iter(records.next_numbers(period))
    drafts = ledger.drafts(period)
    issued = _by_account(records.of(period))
    for account in sorted({*drafts, *issued}):
        if account.organization == UNKNOWN:
            continue
        draft, documents = drafts.get(account), issued.get(account, [])
        issue = _issue("", on, ledger, records, draft)
        wanted = draft.sums if draft is not None else {}
        found = make_correction(wanted, documents, issue, reason) if documents else make_invoice(account, wanted, issue)
        if found is not None:
            yield replace(found, number=next(numbers))


def check_is_over(period: str, ledger: BillingLedger, records: BillingRecords, now_us: int) -> None:
    """Refuse a month that is not over, or tables that do not cover all of it."""
    ends_us = period_us(period, records.directory.books.time_zone)[1]
    if now_us < ends_us:
        raise Refused("value.invalid", f"{period} has not ended yet; close it afterwards")
    if ledger.through() < records.head and ledger.latest_us() < ends_us:
        raise Refused(
            "value.invalid", f"The tables do not cover all of {period} yet; run `postroad pipeline run` first"
        )


def _issue(
    number: str, on: date, ledger: BillingLedger, records: BillingRecords, draft: AccountDraft | None
) -> InvoiceIssue:
    return InvoiceIssue(
        number=number,
        on=on,
        books=records.directory.books,
        through=ledger.through(),
        tariffs=draft.tariffs if draft is not None else {},
    )


def _by_account(documents: Iterable[Invoice]) -> dict[InvoiceAccount, list[Invoice]]:
    found: dict[InvoiceAccount, list[Invoice]] = {}
    for item in documents:
        found.setdefault(InvoiceAccount(item.organization, item.period, item.currency), []).append(item)
    return found


def write_documents(documents: list[Invoice], addresses: dict[str, str], form: str, folder: Path) -> list[Path]:
    """Write documents into a folder: one table of lines, or a file each."""
    import msgspec

    folder.mkdir(parents=True, exist_ok=True)
    if form == "csv":
        contents = {"invoice-lines.csv": as_csv(documents, addresses)} if documents else {}
    elif form == "json":
        contents = {
            f"{item.number}.json": msgspec.json.format(msgspec.json.encode(as_value(item, addresses))).decode() + "\n"
            for item in documents
        }
    else:
        contents = {f"{item.number}.xml": invoice_ubl(item, addresses) for item in documents}
    for name, content in contents.items():
        (folder / name).write_text(content, newline="")
    return [folder / name for name in contents]
