"""The billing tables, read without Spark by DuckDB over their files.

Rule: a bill shows the journal entry that it covers, and tables behind the log are never read.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from deltalake import DeltaTable

from postroad.core.billing.invoices import InvoiceAccount, LineTotal, LineTotals
from postroad.core.billing.issuing import CountedAccount, CountedMonth
from postroad.core.model.billing import BillingSettings, LineKey
from postroad.errors import Misconfigured
from postroad.warehouse.store.table_files import list_files

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

APP = "billing"  # under which the tables say how far they have come
LOG, USAGE, CHARGES, LINES = "log", "usage", "charges", "invoice_lines"
RUN_FIRST = "run `postroad pipeline run` first"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DRAFTS = """
    select organization, period, currency, kind, part, service, tariff, quantity, kilobytes, micros, tariff_version
    from invoice_lines where period = $1
"""
USES = """
    select seq, ordinal, at_us, session, kilobytes, micros from charges
    where organization = $1 and period = $2 and currency = $3 and kind = $4 and part = $5 and service = $6 and tariff = $7
    order by seq, ordinal, part_number
"""
ADDRESSES = """
    select object_key, arg_max(object_value ->> '$.organization', object_version)
           || '/' || arg_max(object_value ->> '$.name', object_version)
    from log where object_kind = 'service' and object_value is not null group by object_key
"""

BOOKS = "select arg_max(object_value, object_version) from log where object_kind = 'books' and object_value is not null"


class LedgerUse(NamedTuple):
    """One billed use of an invoice line."""

    seq: int
    ordinal: int
    at: datetime
    session: str
    kilobytes: int
    micros: int


class BillingLedger:
    """The billing tables in a warehouse's folder."""

    def __init__(self, folder: Path) -> None:
        import duckdb

        self._connection = duckdb.connect(config={"autoinstall_known_extensions": False, "threads": 2})
        tables = {name: _open_table(folder, name) for name in (LOG, CHARGES, LINES)}
        rows = sum(number or 0 for number in tables[LOG].get_add_actions()["num_records"].to_pylist())
        behind = [name for name in (CHARGES, LINES) if (tables[name].transaction_version(APP) or 0) < rows]
        if behind:
            raise Misconfigured([f"the table {name} is behind the log; {RUN_FIRST}" for name in behind])
        for name, table in tables.items():
            self._open(name, table)

    def _open(self, name: str, table: DeltaTable) -> None:
        files = list_files(table)
        if files:
            relation = self._connection.read_parquet(files, hive_partitioning=True, union_by_name=True)
        else:
            relation = self._connection.from_arrow(table.to_pyarrow_table())
        relation.create_view(name)

    @property
    def connection(self) -> DuckDBPyConnection:
        return self._connection

    def month(self, period: str) -> CountedMonth:
        """Return the charges of a month, and the last journal entry that is counted."""
        sums: dict[InvoiceAccount, LineTotals] = {}
        versions: dict[InvoiceAccount, dict[str, int]] = {}
        for row in self._connection.execute(DRAFTS, [period]).fetchall():
            account = InvoiceAccount(*row[:3])
            sums.setdefault(account, {})[LineKey(*row[3:7])] = LineTotal(*row[7:10])
            versions.setdefault(account, {})[row[6]] = row[10]
        accounts = {key: CountedAccount(sums=found, tariffs=versions[key]) for key, found in sorted(sums.items())}
        row = self._connection.execute("select max(seq), max(at_us) from log").fetchone() or (0, 0)
        return CountedMonth(through=row[0] or 0, latest_us=row[1] or 0, accounts=accounts)

    def through(self) -> int:
        """Return the last journal entry that is counted."""
        row = self._connection.execute("select max(seq) from log").fetchone()
        return int(row[0]) if row and row[0] is not None else 0

    def books(self) -> BillingSettings:
        """Return the billing settings by which the tables were counted."""
        row = self._connection.execute(BOOKS).fetchone()
        return msgspec.json.decode(row[0], type=BillingSettings) if row and row[0] else BillingSettings()

    def uses_of(self, account: InvoiceAccount, line: LineKey) -> Iterator[LedgerUse]:
        """Return the uses of a line, in the order of the journal."""
        found = self._connection.execute(USES, [*account, *line])
        while rows := found.fetchmany(1_000):
            for seq, ordinal, at_us, session, kilobytes, micros in rows:
                at = EPOCH + timedelta(microseconds=at_us)
                yield LedgerUse(seq, ordinal, at, session, kilobytes, micros)

    def addresses(self) -> dict[str, str]:
        """Return the addresses of services by GCID, removed services included."""
        return dict(self._connection.execute(ADDRESSES).fetchall())


def _open_table(folder: Path, name: str) -> DeltaTable:
    path = str(folder / name)
    if not DeltaTable.is_deltatable(path):
        raise Misconfigured([f"table {name} does not exist in {folder}; {RUN_FIRST}"])
    return DeltaTable(path)
