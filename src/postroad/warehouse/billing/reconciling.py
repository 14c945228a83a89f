"""Reconciliation: the warehouse's charges and the invoices that were issued, each held against a recount from the journal.

Three comparisons, line by line: the table ``charges`` with the journal; what has been invoiced with the journal as it is now; and
each invoice with the journal as it was then, under the tariffs it names, which proves that it can be made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from postroad.core.billing.invoicing import Account, Sum, Sums, invoiced
from postroad.core.model.billing import Invoice, LineKey
from postroad.warehouse.billing.recount import line_sums, recounted
from postroad.warehouse.billing.tables import Ledger

Records = Iterable[tuple[int, bytes, int]]
Journal = Callable[[int], Records]  # its entries up to a number
NOTHING = Sum()


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A line that is not the same on both sides."""

    what: str  # what was compared with the journal
    account: Account
    line: LineKey
    counted: Sum  # from the journal
    booked: Sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciliation:
    period: str
    through: int
    uses: int  # that were counted from the journal in this month
    micros: dict[str, int]  # that they come to, by currency
    invoices: int  # that were made again
    differences: tuple[Difference, ...]


def reconcile(period: str, ledger: Ledger, journal: Journal, documents: Sequence[Invoice]) -> Reconciliation:
    """Hold everything about a month against the journal; ``documents`` are those issued for it."""
    through = ledger.through()
    recount = recounted(journal(through))
    counted = _of_period(line_sums(recount), period)
    booked = _of_period(line_sums(ledger.connection), period)
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


def _of_period(found: dict[Account, Sums], period: str) -> dict[Account, Sums]:
    return {account: its_lines for account, its_lines in found.items() if account.period == period}


def _differences(what: str, counted: dict[Account, Sums], booked: dict[Account, Sums]) -> Iterator[Difference]:
    for account in sorted({*counted, *booked}):
        ours, theirs = counted.get(account, {}), booked.get(account, {})
        for line in sorted({*ours, *theirs}):
            one, other = ours.get(line, NOTHING), theirs.get(line, NOTHING)
            if one != other:
                yield Difference(what=what, account=account, line=line, counted=one, booked=other)


def _invoiced(documents: Sequence[Invoice]) -> dict[Account, Sums]:
    by_account: dict[Account, list[Invoice]] = {}
    for document in documents:
        by_account.setdefault(Account(document.organization, document.period, document.currency), []).append(document)
    return {account: invoiced(found) for account, found in by_account.items()}


def _alike(documents: Sequence[Invoice]) -> list[list[Invoice]]:
    """First invoices that count through the same entry under the same tariffs, so that one recount serves them all."""
    groups: dict[int, list[Invoice]] = {}
    for document in documents:
        if not document.corrects:
            groups.setdefault(document.through, []).append(document)
    return list(groups.values())


def _made_again(documents: list[Invoice], journal: Journal) -> Iterator[Difference]:
    """What these invoices do not have in common with a recount of the journal as it was when they were issued."""
    versions = {key: version for document in documents for key, version in document.tariffs.items()}
    counted = line_sums(recounted(journal(documents[0].through), versions))
    for document in documents:
        account = Account(document.organization, document.period, document.currency)
        yield from _differences(
            f"invoice {document.number}", {account: counted.get(account, {})}, {account: invoiced([document])}
        )


def _by_currency(counted: dict[Account, Sums]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for account, its_lines in counted.items():
        total = sum(found.micros for found in its_lines.values())
        totals[account.currency] = totals.get(account.currency, 0) + total
    return totals
