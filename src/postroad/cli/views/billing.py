"""Invoices, invoice lines and balances on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from postroad.cli.framework.output import Output
from postroad.core.billing.invoice_rows import line_text
from postroad.core.billing.invoices import InvoiceAccount, LineTotal
from postroad.core.model.billing import MICROS, Invoice, InvoiceLine
from postroad.core.resources.billing import InvoiceSummary

if TYPE_CHECKING:
    from postroad.warehouse.billing.ledger import LedgerUse
    from postroad.warehouse.billing.reconciliation import Reconciliation

PLACES = 6
MAX_SHOWN = 100
DRAFT = "(not issued yet)"


def format_micros(micros: int) -> str:
    """Format micro-units with all their decimals."""
    return f"{Decimal(micros) / MICROS:.{PLACES}f}"


def show_invoice(out: Output, invoice: Invoice, addresses: Mapping[str, str]) -> None:
    corrects = f", corrects {invoice.corrects}" if invoice.corrects else ""
    if invoice.number == DRAFT:
        out.print(f"Draft of an invoice\n{invoice.organization}, {invoice.period}")
    else:
        out.print(f"{invoice.document.value.capitalize()} {invoice.number}{corrects}")
        out.print(f"{invoice.organization}, {invoice.period}; issued {invoice.issued_on}, due {invoice.due_on}")
    if invoice.reason:
        out.print(f"Reason: {invoice.reason}")
    show_lines(out, invoice.lines, invoice.currency, invoice.total, addresses)
    tariffs = ", ".join(f"{key} (version {version})" for key, version in invoice.tariffs.items())
    out.print(f"Counts through journal entry {invoice.through}" + (f", by {tariffs}" if tariffs else ""))


def show_lines(
    out: Output, lines: Iterable[InvoiceLine], currency: str, total: Decimal, addresses: Mapping[str, str]
) -> None:
    rows = [
        [str(line.number), line_text(line, addresses), str(line.quantity), str(line.kilobytes), format_micros(line.micros),
         f"{line.amount:f}"]
        for line in lines
    ]  # fmt: skip
    rows.append(["", "Total", "", "", "", f"{total:f} {currency}"])
    out.table(["LINE", "WHAT", "NUMBER", "KILOBYTES", "EXACTLY", "AMOUNT"], rows)


def show_balances(out: Output, found: Iterable[InvoiceSummary]) -> None:
    rows = [
        [one.number, one.organization, one.period, one.charged, one.paid, one.open, one.currency, one.due_on,
         str(len(one.corrections) or "")]
        for one in found
    ]  # fmt: skip
    names = ["NUMBER", "ORGANIZATION", "PERIOD", "CHARGED", "PAID", "OPEN", "CURRENCY", "DUE", "CORRECTIONS"]
    if rows:
        out.table(names, rows)
    else:
        out.print("No invoices.")


def show_uses(
    out: Output, line: InvoiceLine, uses: Iterable[LedgerUse], addresses: Mapping[str, str], through: int
) -> None:
    """Print the messages behind a line, each with its share; messages after the invoice's last entry are marked."""
    out.print(f"Line {line.number}: {line_text(line, addresses)}")
    rows: list[list[str]] = []
    quantity = micros = 0
    for use in uses:
        later = use.seq > through
        quantity, micros = (quantity, micros) if later else (quantity + 1, micros + use.micros)
        out.value({**use._asdict(), "later": later})
        note = "counted later" if later else ""
        if len(rows) < MAX_SHOWN:
            rows.append(
                [f"{use.at:%Y-%m-%d %H:%M:%S}Z", use.session, str(use.kilobytes), format_micros(use.micros), note]
            )
    out.table(["POSTED", "SESSION", "KILOBYTES", "EXACTLY", ""], rows)
    if quantity > len(rows):
        out.print(f"… and {quantity - len(rows)} more; --json lists them all")
    out.print(
        f"{quantity} together {format_micros(micros)}; the line says {line.quantity}, {format_micros(line.micros)}, "
        f"rounded {line.amount:f}"
    )
    if (quantity, micros) != (line.quantity, line.micros):
        out.print(
            "They differ because the tariff or the log was corrected later; `postroad billing close` issues a correction."
        )


def show_differences(out: Output, found: Reconciliation) -> None:
    out.value(msgspec.to_builtins(found))
    rows = [
        [one.what, account_name(one.account), one.line.kind, one.line.part, one.line.service, _sum(one.counted),
         _sum(one.booked)]
        for one in found.differences
    ]  # fmt: skip
    totals = (
        ", ".join(f"{format_micros(micros)} {currency}" for currency, micros in sorted(found.micros.items()))
        or "nothing"
    )
    out.print(f"{found.period}: {found.uses} uses through entry {found.through} come to {totals}")
    out.print(f"{found.invoices} invoices made again from the journal")
    if rows:
        out.table(["COMPARED", "ACCOUNT", "KIND", "PART", "SERVICE", "JOURNAL", "BOOKED"], rows)
    out.print(f"difference: {len(rows) or 'zero'}")


def account_name(account: InvoiceAccount) -> str:
    return f"{account.organization}, {account.period}, {account.currency}"


def _sum(found: LineTotal) -> str:
    return f"{found.quantity}, {found.kilobytes} kB, {format_micros(found.micros)}"
