"""The command ``postroad billing``: usage, costs, invoices and payments.

Invoices and payments are those of the network, asked through the SDK; charges are those of the warehouse's tables.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.commands.warehouse.invoice_documents import (
    FORMATS,
    counted_charges,
    find_missing_documents,
    journal_reader,
    list_documents,
    open_ledger,
    read_journal_records,
    write_documents,
)
from postroad.cli.commands.warehouse.pipeline import with_warehouse_folder
from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import with_settings
from postroad.cli.views.billing import DRAFT, show_balances, show_differences, show_invoice, show_uses
from postroad.core.billing.calendar import check_period, day_of
from postroad.core.billing.invoice_rows import as_value
from postroad.core.billing.invoice_views import invoice_of
from postroad.core.billing.invoices import InvoiceAccount
from postroad.core.billing.issuing import draft_invoices
from postroad.core.model.billing import BillingSettings
from postroad.errors import Refused

DAY = click.DateTime(["%Y-%m-%d"])


@click.group()
def billing() -> None:
    """Show and issue bills, and record payments."""


def with_network(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands that ask the network, with an operator's key."""

    @functools.wraps(function)
    def run(*arguments: Any, url: str, key_file: str, settings: Settings, **options: Any) -> Any:
        connection = NetworkConnection(url=url, key_file=key_file, data=str(settings.data))
        return function(*arguments, settings=settings, connection=connection, **options)

    for option in (
        click.option("--key-file", default="", help="File that holds an operator's API key.", metavar="FILE"),
        click.option("--url", default="", help="Address of the network."),
    ):
        run = option(run)
    return with_settings(run)


@command
@click.argument("organization")
@click.argument("period")
@click.option("--explain", type=click.IntRange(min=1), metavar="LINE", help="Show the messages of a line.")
@click.option("--currency", default="", help="Currency, if there are invoices in several.")
@with_warehouse_folder
@with_network
def invoice(
    out: Output, organization: str, period: str, explain: int | None, currency: str, folder: Path | None,
    settings: Settings, connection: NetworkConnection,
) -> None:  # fmt: skip
    """Show the bill of an organization for a month: as issued, or as it would be now."""
    ledger = open_ledger(settings, folder)
    issued = list_documents(connection, check_period(period), organization)
    books = ledger.books()
    drafts = [] if issued else draft_invoices(period, ledger.month(period), organization, _today(books), books, DRAFT)
    documents = [item for item in issued or drafts if currency in ("", item.currency)]
    if not documents:
        raise Refused("not-found", f"{organization} has no billable use in {period}")
    addresses = ledger.addresses()
    if explain is None:
        for document in documents:
            named = addresses | document.addresses
            out.value(as_value(document, named))
            show_invoice(out, document, named)
        return
    first = documents[0]
    lines = [line for line in first.lines if line.number == explain]
    if not lines:
        raise Refused("not-found", f"There is no line {explain}; the bill has {len(first.lines)} of them")
    account = InvoiceAccount(first.organization, first.period, first.currency)
    show_uses(out, lines[0], ledger.uses_of(account, lines[0].key), addresses, first.through)


@command
@click.option("--period", default="", help="Only of this month.")
@click.option("--organization", default="", help="Only of this organization.")
@with_network
def invoices(out: Output, period: str, organization: str, settings: Settings, connection: NetworkConnection) -> None:
    """List invoices with what was paid and what is open."""
    with connection.client() as client:
        found = client.billing.invoices(organization, period)
    for one in found:
        out.value(one)
    show_balances(out, found)


@command
@click.argument("period")
@click.option(
    "--dry-run", is_flag=True, help="Only show what would be issued; exit code 2 if there is anything to issue."
)
@with_warehouse_folder
@with_network
def close(
    out: Output, period: str, dry_run: bool, folder: Path | None, settings: Settings, connection: NetworkConnection
) -> None:
    """Issue the invoices of a month, and corrections of invoices that have become wrong.

    Run it again after late changes: it issues what is missing and nothing twice.
    """
    counted = counted_charges(open_ledger(settings, folder), check_period(period))
    with connection.client() as client:
        documents = client.billing.issue(period, counted=counted, dry_run=dry_run).items
    for view in documents:
        document = invoice_of(view)
        out.value(as_value(document, document.addresses))
        out.print(f"{view.number}  {view.document}  {view.organization}  {view.total} {view.currency}")
    if not documents:
        out.print(f"Nothing to issue: the invoices of {period} are correct.")
    elif dry_run:
        sys.exit(ExitCode.CHANGES)
    else:
        out.print(f"{len(documents)} issued.")


@command
@click.argument("period")
@with_warehouse_folder
@with_settings
def reconcile(out: Output, period: str, folder: Path | None, settings: Settings) -> None:
    """Recalculate a month from the journal, without Spark, and compare.

    Exit code 1 when anything differs.
    """
    ledger, journal = open_ledger(settings, folder), journal_reader(settings)
    from postroad.warehouse.billing.reconciliation import reconcile as reconciled

    documents = read_journal_records(settings).documents(check_period(period))
    found = reconciled(period, ledger, journal, documents)
    show_differences(out, found)
    if found.differences:
        sys.exit(ExitCode.ERROR)


@command
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@with_settings
def missing(out: Output, folder: Path, settings: Settings) -> None:
    """List the invoices in a folder of UBL files that the journal does not have.

    Use it after a restore: invoices that were issued after the backup are missing, and their numbers would be issued
    again. Reads the journal only. Exit code 1 when any is missing.
    """
    found = find_missing_documents(settings, folder)
    for number, file in found:
        out.value({"number": number, "file": str(file)})
        out.print(f"{number}  {file}")
    if found:
        sys.exit(ExitCode.ERROR)
    out.print("no invoice is missing")


@command
@click.argument("number")
@click.argument("amount")
@click.option("--reason", required=True, help="Reason; printed on the credit note.")
@with_network
def credit(
    out: Output, number: str, amount: str, reason: str, settings: Settings, connection: NetworkConnection
) -> None:
    """Issue a credit note for an invoice, for a reason outside the journal."""
    with connection.client() as client:
        note = client.billing.credit(number, amount, reason)
    document = invoice_of(note)
    out.value(as_value(document, document.addresses))
    out.print(f"Credit note {note.number} for {note.corrects}: {note.total} {note.currency}")


@command
@click.argument("number")
@click.argument("amount")
@click.option("--on", "received", type=DAY, help="Day of receipt; default: today.")
@click.option("--reference", default="", help="Text of the bank statement.")
@with_network
def pay(
    out: Output, number: str, amount: str, received: datetime | None, reference: str, settings: Settings,
    connection: NetworkConnection,
) -> None:  # fmt: skip
    """Record a payment for an invoice; a negative amount reverses one."""
    day = received.date().isoformat() if received else ""
    with connection.client() as client:
        recorded = client.billing.pay(number, amount, received_on=day, reference=reference)
    payment, balance = recorded.payment, recorded.invoice
    out.value(balance)
    out.print(f"{payment.id}: {payment.amount} {payment.currency} received; {balance.open} open on {balance.number}")


@command
@click.option("--on", "day", type=DAY, help="As of this day; default: today.")
@with_network
def overdue(out: Output, day: datetime | None, settings: Settings, connection: NetworkConnection) -> None:
    """List overdue invoices, the oldest first.

    An operator can suspend an organization that does not pay: `postroad suspend ORGANIZATION`.
    """
    with connection.client() as client:
        found = client.billing.invoices(overdue_on=day.date().isoformat() if day else "today")
    found.sort(key=lambda one: (one.due_on, one.number))
    for one in found:
        out.value(one)
    if found:
        show_balances(out, found)
    else:
        out.print("Nothing is overdue.")


@command
@click.argument("period")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="csv", show_default=True, help="Format of the files."
)
@click.option("--out", "target", type=click.Path(path_type=Path), required=True, help="Folder for the files.")
@click.option("--organization", default="", help="Only of this organization.")
@with_warehouse_folder
@with_network
def export(
    out: Output, period: str, form: str, target: Path, organization: str, folder: Path | None, settings: Settings,
    connection: NetworkConnection,
) -> None:  # fmt: skip
    """Write the issued invoices of a month as files: a table of lines, JSON, or UBL 2.1 for accounting programs."""
    documents = list_documents(connection, check_period(period), organization)
    if not documents:
        raise Refused("not-found", f"No invoices of {period} have been issued; `postroad billing close` issues them")
    for file in write_documents(documents, form, target):
        out.value({"file": str(file)})
        out.print(str(file))


def _today(books: BillingSettings) -> date:
    return day_of(int(datetime.now(UTC).timestamp()) * 1_000_000, books.time_zone)


for step in (invoice, invoices, close, reconcile, missing, credit, pay, overdue, export):
    billing.add_command(step)
