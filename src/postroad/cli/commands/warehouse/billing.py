"""The command ``postroad billing``: usage, costs, invoices and payments."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.commands.warehouse.billing_records import BillingRecords, write_records
from postroad.cli.commands.warehouse.invoice_documents import (
    FORMATS,
    check_is_over,
    find_due_documents,
    journal_reader,
    open_ledger,
    write_documents,
)
from postroad.cli.commands.warehouse.pipeline import with_warehouse_folder
from postroad.cli.framework.command import command
from postroad.cli.framework.connection import NetworkConnection
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import with_settings
from postroad.cli.views.billing import (
    balance_value,
    draft_invoices,
    show_balances,
    show_differences,
    show_invoice,
    show_uses,
)
from postroad.core.billing.balances import balances
from postroad.core.billing.balances import list_overdue as overdue_among
from postroad.core.billing.calendar import check_period, day_of
from postroad.core.billing.invoice_rows import as_value
from postroad.core.billing.invoices import InvoiceAccount, InvoiceIssue, make_credit_note
from postroad.core.model.billing import Payment, decimals
from postroad.core.model.snapshot import Directory
from postroad.errors import Refused

DAY = click.DateTime(["%Y-%m-%d"])


@click.group()
def billing() -> None:
    """Show and issue bills, and record payments."""


def with_record_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of commands that write records through the server, with an operator's key."""

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
@with_settings
def invoice(
    out: Output, organization: str, period: str, explain: int | None, currency: str, folder: Path | None, settings: Settings
) -> None:  # fmt: skip
    """Show the bill of an organization for a month: as issued, or as it would be now."""
    ledger, records = open_ledger(settings, folder), BillingRecords.read(settings)
    issued = [item for item in records.of(check_period(period), organization) if currency in ("", item.currency)]
    documents = issued or draft_invoices(ledger, period, organization, currency, records.directory.books, _now().date())
    if not documents:
        raise Refused("not-found", explain_missing_bill(organization, period, records.directory))
    addresses = ledger.addresses()
    if explain is None:
        for document in documents:
            out.value(as_value(document, addresses))
            show_invoice(out, document, addresses)
        return
    first = documents[0]
    lines = [line for line in first.lines if line.number == explain]
    if not lines:
        raise Refused("not-found", f"There is no line {explain}; the bill has {len(first.lines)} of them")
    account = InvoiceAccount(first.organization, first.period, first.currency)
    show_uses(out, lines[0], ledger.uses_of(account, lines[0].key), addresses, first.through)


def explain_missing_bill(organization: str, period: str, directory: Directory) -> str:
    return no_organization(organization, directory) or f"{organization} has no billable use in {period}"


def no_organization(organization: str, directory: Directory) -> str:
    """That the organization does not exist, with the name that was probably meant; empty if it exists."""
    if directory.organization(organization) is not None or not directory.organizations:
        return ""
    names = [item.name for item in directory.organizations.values()]
    near = get_close_matches(organization, names, 1)
    return f"Organization {organization!r} does not exist." + (f" Did you mean {near[0]!r}?" if near else "")


@command
@click.option("--period", default="", help="Only of this month.")
@click.option("--organization", default="", help="Only of this organization.")
@with_settings
def invoices(out: Output, period: str, organization: str, settings: Settings) -> None:
    """List invoices with what was paid and what is open."""
    records = BillingRecords.read(settings)
    if organization and (unknown := no_organization(organization, records.directory)):
        raise Refused("not-found", unknown)
    found = balances(records.of(period, organization), records.payments.values())
    for one in found:
        out.value(balance_value(one))
    show_balances(out, found)


@command
@click.argument("period")
@click.option(
    "--dry-run", is_flag=True, help="Only show what would be issued; exit code 2 if there is anything to issue."
)
@with_warehouse_folder
@with_record_options
def close(
    out: Output, period: str, dry_run: bool, folder: Path | None, settings: Settings, connection: NetworkConnection
) -> None:
    """Issue the invoices of a month, and corrections of invoices that have become wrong.

    Run it again after late changes: it issues what is missing and nothing twice.
    """
    ledger, records = open_ledger(settings, folder), BillingRecords.read(settings)
    check_is_over(check_period(period), ledger, records, _now_us())
    documents = list(find_due_documents(period, ledger, records, _today(records)))
    addresses = ledger.addresses()
    for document in documents:
        out.value(as_value(document, addresses))
        out.say(
            f"{document.number}  {document.document.value}  {document.organization}  {document.total:f} {document.currency}"
        )
    if not documents:
        out.say(f"Nothing to issue: the invoices of {period} are correct.")
    elif dry_run:
        sys.exit(ExitCode.CHANGES)
    else:
        write_records(connection, settings, documents)
        out.say(f"{len(documents)} issued.")


@command
@click.argument("period")
@with_warehouse_folder
@with_settings
def reconcile(out: Output, period: str, folder: Path | None, settings: Settings) -> None:
    """Recalculate a month from the journal, without Spark, and compare.

    Exit code 1 when anything differs.
    """
    ledger, records = open_ledger(settings, folder), BillingRecords.read(settings)
    from postroad.warehouse.billing.reconciliation import reconcile as reconciled

    found = reconciled(check_period(period), ledger, journal_reader(settings), records.of(period))
    show_differences(out, found)
    if found.differences:
        sys.exit(ExitCode.ERROR)


@command
@click.argument("number")
@click.argument("amount")
@click.option("--reason", required=True, help="Reason; printed on the credit note.")
@with_record_options
def credit(
    out: Output, number: str, amount: str, reason: str, settings: Settings, connection: NetworkConnection
) -> None:
    """Issue a credit note for an invoice, for a reason outside the journal."""
    records = BillingRecords.read(settings)
    first = records.named(number)
    given = _amount(amount, first.currency)
    if given <= 0:
        raise Refused("value.invalid", "A credit must be greater than zero")
    issue = InvoiceIssue(
        number=next(iter(records.next_numbers(first.period))), on=_today(records), books=records.directory.books,
        through=first.through, tariffs={},
    )  # fmt: skip
    note = make_credit_note(first, given, issue, reason)
    write_records(connection, settings, [note])
    out.value(as_value(note, {}))
    out.say(f"Credit note {note.number} for {first.number}: {note.total:f} {note.currency}")


@command
@click.argument("number")
@click.argument("amount")
@click.option("--on", "received", type=DAY, help="Day of receipt; default: today.")
@click.option("--reference", default="", help="Text of the bank statement.")
@with_record_options
def pay(
    out: Output, number: str, amount: str, received: datetime | None, reference: str, settings: Settings,
    connection: NetworkConnection,
) -> None:  # fmt: skip
    """Record a payment for an invoice; a negative amount reverses one."""
    records = BillingRecords.read(settings)
    first = records.named(number)
    payment = Payment(
        id=records.next_payment(first.number),
        invoice=first.number,
        amount=_amount(amount, first.currency),
        currency=first.currency,
        received_on=received.date() if received else _today(records),
        reference=reference,
    )
    write_records(connection, settings, [payment])
    documents = [item for item in records.invoices.values() if item.root == first.number]
    (balance,) = balances(documents, [*records.payments.values(), payment])
    out.value(balance_value(balance))
    out.say(f"{payment.id}: {payment.amount:f} {payment.currency} received; {balance.open:f} open on {first.number}")


@command
@click.option("--on", "day", type=DAY, help="As of this day; default: today.")
@with_settings
def overdue(out: Output, day: datetime | None, settings: Settings) -> None:
    """List overdue invoices, the oldest first.

    An operator can suspend an organization that does not pay: `postroad suspend ORGANIZATION`.
    """
    records = BillingRecords.read(settings)
    on = day.date() if day else _today(records)
    found = overdue_among(balances(records.invoices.values(), records.payments.values()), on)
    for one in found:
        out.value(balance_value(one) | {"daysLate": one.days_late(on)})
    if found:
        show_balances(out, found)
    else:
        out.say("Nothing is overdue.")


@command
@click.argument("period")
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="csv", show_default=True, help="Format of the files."
)
@click.option("--out", "target", type=click.Path(path_type=Path), required=True, help="Folder for the files.")
@click.option("--organization", default="", help="Only of this organization.")
@with_warehouse_folder
@with_settings
def export(
    out: Output, period: str, form: str, target: Path, organization: str, folder: Path | None, settings: Settings
) -> None:
    """Write the issued invoices of a month as files: a table of lines, JSON, or UBL 2.1 for accounting programs."""
    records = BillingRecords.read(settings)
    documents = records.of(check_period(period), organization)
    if not documents:
        unknown = organization and no_organization(organization, records.directory)
        detail = f"No invoices of {period} have been issued; `postroad billing close` issues them"
        raise Refused("not-found", unknown or detail)
    files = write_documents(documents, open_ledger(settings, folder).addresses(), form, target)
    for file in files:
        out.value({"file": str(file)})
        out.say(str(file))


def _amount(text: str, currency: str) -> Decimal:
    try:
        amount = Decimal(text)
        fits = amount.is_finite() and amount == amount.quantize(Decimal(1).scaleb(-decimals(currency)))
    except InvalidOperation:
        fits = False
    if not fits:
        raise Refused("value.invalid", f"{text[:40]!r} is no amount in {currency}; write it as 12.50")
    return amount.quantize(Decimal(1).scaleb(-decimals(currency)))


def _now() -> datetime:
    return datetime.now(UTC)


def _now_us() -> int:
    return int(_now().timestamp()) * 1_000_000


def _today(records: BillingRecords) -> date:
    return day_of(_now_us(), records.directory.books.time_zone)


for step in (invoice, invoices, close, reconcile, credit, pay, overdue, export):
    billing.add_command(step)
