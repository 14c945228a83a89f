"""Issued documents from the network, charges for it from the warehouse, and documents written as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postroad.bootstrap.settings import Settings
from postroad.cli.commands.warehouse.pipeline_steps import journal_source, warehouse_folder
from postroad.cli.framework.connection import NetworkConnection
from postroad.cli.framework.spark import require_warehouse
from postroad.core.billing.invoice_rows import as_csv, as_value
from postroad.core.billing.invoice_views import invoice_of
from postroad.core.billing.records import BillingRecords, read_records
from postroad.core.billing.ubl import invoice_ubl, read_document_number
from postroad.core.model.billing import Invoice
from postroad.core.model.billing_entries import BILLING_TAGS
from postroad.core.model.journal import ConfigurationChanged, Entry, decode
from postroad.errors import Misconfigured, Refused

if TYPE_CHECKING:
    from postroad.warehouse.billing.ledger import BillingLedger

FORMATS = ("csv", "json", "ubl")
TAGS = tuple(tag.encode() for tag in (*BILLING_TAGS, str(ConfigurationChanged.__struct_config__.tag)))
TAG_WITHIN = 40  # bytes: an entry begins with its kind


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


def read_journal_records(settings: Settings) -> BillingRecords:
    """Read all invoices and payments from the journal, which needs no index and no running network."""
    return read_records(_records_of(journal_reader(settings)(journal_source(settings).head())))


def find_missing_documents(settings: Settings, folder: Path) -> list[tuple[str, Path]]:
    """Return the numbers and files of invoices in UBL that are not in the journal; raises Misconfigured for other files."""
    known = {document.number for document in read_journal_records(settings).documents()}
    found, faults = [], []
    for file in sorted(folder.glob("*.xml")):
        try:
            found.append((read_document_number(file.read_bytes()), file))
        except Refused as refusal:
            faults.append(f"{file}: {refusal.detail}")
    if faults:
        raise Misconfigured(faults)
    return [(number, file) for number, file in found if number not in known]


def _records_of(records: Iterable[tuple[int, bytes, int]]) -> Iterator[Entry]:
    for _, facts, _ in records:
        if any(tag in facts[:TAG_WITHIN] for tag in TAGS):
            yield decode(facts)


def counted_charges(ledger: BillingLedger, period: str) -> dict[str, Any]:
    """Return the charges of a month as the network takes them to issue invoices."""
    month = ledger.month(period)
    accounts = [
        {
            "organization": account.organization,
            "currency": account.currency,
            "tariffs": dict(draft.tariffs),
            "lines": [key._asdict() | total._asdict() for key, total in draft.sums.items()],
        }
        for account, draft in month.accounts.items()
    ]
    return {"through": month.through, "latest": month.latest_us, "accounts": accounts}


def list_documents(connection: NetworkConnection, period: str, organization: str = "") -> list[Invoice]:
    """Return the issued documents of a month, by number."""
    with connection.client() as client:
        return [invoice_of(view) for view in client.billing.documents(organization, period)]


def write_documents(documents: list[Invoice], form: str, folder: Path) -> list[Path]:
    """Write documents into a folder: one table of lines, or a file each."""
    import msgspec

    folder.mkdir(parents=True, exist_ok=True)
    if form == "csv":
        addresses = {gcid: address for item in documents for gcid, address in item.addresses.items()}
        contents = {"invoice-lines.csv": as_csv(documents, addresses)} if documents else {}
    elif form == "json":
        contents = {
            f"{item.number}.json": msgspec.json.format(msgspec.json.encode(as_value(item, item.addresses))).decode()
            + "\n"
            for item in documents
        }
    else:
        contents = {f"{item.number}.xml": invoice_ubl(item, item.addresses) for item in documents}
    for name, content in contents.items():
        (folder / name).write_text(content, newline="")
    return [folder / name for name in contents]
