"""Reconciliation: compares the warehouse's charges and the issued invoices with a recount of the journal.

Three comparisons, line by line: the table ``charges`` with the journal; what has been invoiced with the journal as it is now; and
each invoice with the journal as it was then, under the tariffs it names, which proves that it can be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from postroad.core.billing.invoices import InvoiceAccount, LineTotal, LineTotals, sum_invoiced
from postroad.core.model.billing import Invoice, LineKey
from postroad.warehouse.billing.ledger import BillingLedger
from postroad.warehouse.billing.recount import recount_charges, sum_lines

Records = Iterable[tuple[int, bytes, int]]
Journal = Callable[[int], Records]  # its entries up to a number
NOTHING = LineTotal()


@dataclass(frozen=True, slots=True, kw_only=True)
class LineDifference:
    """An invoice line that differs between the two sides."""

    what: str  # what was compared with the journal
    account: InvoiceAccount
    line: LineKey
    counted: LineTotal  # from the journal
    booked: LineTotal


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    """The differences of a month, and how much was compared."""

    period: str
    through: int
    uses: int  # that were counted from the journal in this month
    micros: dict[str, int]  # that they come to, by currency
    invoices: int  # that were made again
    differences: tuple[LineDifference, ...]


def reconcile(period: str, ledger: BillingLedger, journal: Journal, documents: Sequence[Invoice]) -> Reconciliation:
    """Compare everything about a month with the journal; ``documents`` are the invoices issued for it."""
    through = ledger.through()
    recount = recount_charges(journal(through))
    counted = _of_period(sum_lines(recount), period)
    booked = _of_period(sum_lines(ledger.connection), period)
    differences = [*_differences("charges", counted, booked)]
    if documents:
        differences += _differences("invoices", counted, _invoiced(documents))
    differences += [found for group in _alike(documents) for found in _made_again(group, journal)]
    row = recount.execute("select count(distinct (seq, ordinal)) from charges where period = $1", [period]).fetchone()
    return Reconciliation(
        period=period,
        through=through,
        uses=row[0] if row else 0,
        micros=_by_currency(counted),
        invoices=sum(not document.corrects for document in documents),
        differences=tuple(differences),
    )


def _of_period(found: dict[InvoiceAccount, LineTotals], period: str) -> dict[InvoiceAccount, LineTotals]:
    return {account: its_lines for account, its_lines in found.items() if account.period == period}


def _differences(
    what: str, counted: dict[InvoiceAccount, LineTotals], booked: dict[InvoiceAccount, LineTotals]
) -> Iterator[LineDifference]:
    for account in sorted({*counted, *booked}):
        ours, theirs = counted.get(account, {}), booked.get(account, {})
        for line in sorted({*ours, *theirs}):
            one, other = ours.get(line, NOTHING), theirs.get(line, NOTHING)
            if one != other:
                yield LineDifference(what=what, account=account, line=line, counted=one, booked=other)


def _invoiced(documents: Sequence[Invoice]) -> dict[InvoiceAccount, LineTotals]:
    by_account: dict[InvoiceAccount, list[Invoice]] = {}
    for document in documents:
        by_account.setdefault(InvoiceAccount(document.organization, document.period, document.currency), []).append(
            document
        )
    return {account: sum_invoiced(found) for account, found in by_account.items()}


def _alike(documents: Sequence[Invoice]) -> list[list[Invoice]]:
    """Group first invoices by last entry and tariffs, so that one recount serves each group."""
    groups: dict[int, list[Invoice]] = {}
    for document in documents:
        if not document.corrects:
            groups.setdefault(document.through, []).append(document)
    return list(groups.values())


def _made_again(documents: list[Invoice], journal: Journal) -> Iterator[LineDifference]:
    """Yield the differences between these invoices and a recount of the journal as of their issue."""
    versions = {key: version for document in documents for key, version in document.tariffs.items()}
    counted = sum_lines(recount_charges(journal(documents[0].through), versions))
    for document in documents:
        account = InvoiceAccount(document.organization, document.period, document.currency)
        yield from _differences(
            f"invoice {document.number}", {account: counted.get(account, {})}, {account: sum_invoiced([document])}
        )


def _by_currency(counted: dict[InvoiceAccount, LineTotals]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for account, its_lines in counted.items():
        total = sum(found.micros for found in its_lines.values())
        totals[account.currency] = totals.get(account.currency, 0) + total
    return totals
