"""What the commands of billing do, apart from printing: drafts become invoices, and differences become corrections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from postroad.bootstrap.settings import Settings
from postroad.cli.billing_records import Records
from postroad.cli.on_spark import require_warehouse
from postroad.cli.pipeline_work import journal_source, warehouse_folder
from postroad.core.billing.calendar import period_us
from postroad.core.billing.invoicing import Account, Issue, correction, invoice
from postroad.core.billing.rating import UNKNOWN
from postroad.core.billing.tabular import as_csv, as_value
from postroad.core.billing.ubl import ubl
from postroad.core.model.billing import Invoice
from postroad.errors import Refused

if TYPE_CHECKING:
    from postroad.warehouse.billing.tables import Draft, Ledger

REASON = "what came to light after the invoice was issued"
FORMATS = ("csv", "json", "ubl")


def open_ledger(settings: Settings, folder: Path | None) -> Ledger:
    """The warehouse's tables of billing."""
    require_warehouse()
    from postroad.warehouse.billing.tables import Ledger

    return Ledger(warehouse_folder(settings, folder).absolute())


def journal_upto(settings: Settings) -> Callable[[int], Iterable[tuple[int, bytes, int]]]:
    """The journal's entries up to a number, read anew each time."""
    from postroad.warehouse.sources.log_source import Span

    source = journal_source(settings)
    return lambda upto: source.records(Span(0, upto))


def due_documents(period: str, ledger: Ledger, records: Records, on: date, reason: str = REASON) -> Iterator[Invoice]:
    """The invoices that a month still lacks, and corrections of those that are not right any more."""
    numbers = iter(records.next_numbers(period))
    drafts = ledger.drafts(period)
    issued = _by_account(records.of(period))
    for account in sorted({*drafts, *issued}):
        if account.organization == UNKNOWN:
            continue
        draft, documents = drafts.get(account), issued.get(account, [])
        issue = _issue("", on, ledger, records, draft)
        wanted = draft.sums if draft is not None else {}
        found = correction(wanted, documents, issue, reason) if documents else invoice(account, wanted, issue)
        if found is not None:
            yield replace(found, number=next(numbers))


def check_is_over(period: str, ledger: Ledger, records: Records, now_us: int) -> None:
    """Refuse a month that is not over, or tables that do not know all of it."""
    ends_us = period_us(period, records.directory.books.time_zone)[1]
    if now_us < ends_us:
        raise Refused("value.invalid", f"{period} is not over yet; close it when it is")
    if ledger.through() < records.head and ledger.latest_us() < ends_us:
        raise Refused(
            "value.invalid", f"The tables do not know the end of {period} yet; run `postroad pipeline run` first"
        )


def _issue(number: str, on: date, ledger: Ledger, records: Records, draft: Draft | None) -> Issue:
    return Issue(
        number=number,
        on=on,
        books=records.directory.books,
        through=ledger.through(),
        tariffs=draft.tariffs if draft is not None else {},
    )


def _by_account(documents: Iterable[Invoice]) -> dict[Account, list[Invoice]]:
    found: dict[Account, list[Invoice]] = {}
    for item in documents:
        found.setdefault(Account(item.organization, item.period, item.currency), []).append(item)
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
        contents = {f"{item.number}.xml": ubl(item, addresses) for item in documents}
    for name, content in contents.items():
        (folder / name).write_text(content, newline="")
    return [folder / name for name in contents]
