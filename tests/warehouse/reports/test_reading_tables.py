"""Reports read tables by Arrow alone: a thread of its that calls Python while that ends would take the program down with it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from pyarrow.fs import PyFileSystem

from postroad.warehouse.reports.report_tables import ReportTables


def test_files_are_read_without_python(tmp_path: Path) -> None:
    folder = tmp_path / "warehouse"
    write_deltalake(folder / "services", pa.table({"service": ["a" * 16], "address": ["Acme/edi"]}))
    tables = ReportTables(folder)
    fragments = list(tables._dataset("services").get_fragments())
    assert fragments
    assert not any(isinstance(one.filesystem, PyFileSystem) for one in fragments)
    assert tables.service_addresses() == {"a" * 16: "Acme/edi"}
