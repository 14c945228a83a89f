"""`postroad billing missing`: invoices in UBL files that a restored journal does not have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from postroad.adapters.journal.segments import SegmentJournal, SegmentSettings
from postroad.cli.main import postroad
from postroad.core.billing.ubl import invoice_ubl
from postroad.core.model.billing import Invoice
from postroad.core.model.billing_entries import InvoiceIssued, billing_record
from postroad.core.model.journal import encode
from postroad.ports import NewRecord
from postroad.testing.contracts.index.story_billing import build_document

SMALL = SegmentSettings(segment_bytes=1 << 16, reserve_bytes=1 << 12, least_free_bytes=0)


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """A journal with one invoice, and UBL files of it and a later one."""
    entry = InvoiceIssued(1, "ada", build_document("2026-10-0001", "12.34"))
    journal = SegmentJournal.open(tmp_path / "data/journal", SMALL)
    await journal.append([NewRecord(encode(entry), None)])
    await journal.close()
    known = billing_record(entry)
    assert isinstance(known, Invoice)
    folder = tmp_path / "invoices"
    folder.mkdir()
    for invoice in (known, replace(known, number="2026-10-0002")):
        (folder / f"{invoice.number}.xml").write_text(invoice_ubl(invoice, {}))
    return tmp_path / "data"


@pytest.mark.req("O6")
async def test_invoices_of_the_lost_part_are_listed(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "invoices"
    done = CliRunner().invoke(postroad, ["billing", "missing", str(folder), "--data", str(data)])
    assert (done.exit_code, done.stdout) == (1, f"2026-10-0002  {folder / '2026-10-0002.xml'}\n")
    (folder / "2026-10-0002.xml").unlink()
    done = CliRunner().invoke(postroad, ["billing", "missing", str(folder), "--data", str(data)])
    assert (done.exit_code, done.stdout) == (0, "no invoice is missing\n")


async def test_files_that_are_no_invoices_are_named(data: Path, tmp_path: Path) -> None:
    (tmp_path / "invoices/other.xml").write_text("<order/>")
    done = CliRunner().invoke(postroad, ["billing", "missing", str(tmp_path / "invoices"), "--data", str(data)])
    assert done.exit_code == 1
    assert "other.xml: it is not an invoice or credit note in UBL 2.1" in done.stderr
