"""The bill counted again by DuckDB, from the journal itself: no Spark, no table of the warehouse, no shared pricing.

``recount.sql`` says how, one table a statement; it is a second reading of docs/explanation/billing.md, and differs from the first
on purpose: tiers are intersected with the units that a use adds, where the other takes the difference of two sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from postroad.core.billing.invoicing import Account, Sum, Sums
from postroad.core.model.billing import LineKey
from postroad.warehouse.billing.recount_tables import SCHEMAS, as_table, journal_pieces, midnights

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

STATEMENTS = files("postroad.warehouse.billing").joinpath("recount.sql")
BOUNDS = """
    select min(at_us), max(at_us), coalesce(
        (select value ->> '$.time_zone' from objects where kind = 'books' and value is not null
         order by version desc limit 1), 'UTC')
    from (select at_us from copies union all select at_us from returns)
"""
LINES = """
    select organization, period, currency, kind, part, service, tariff,
           count(*), cast(sum(kilobytes) as bigint), cast(sum(micros) as bigint)
    from {charges} group by all
"""


def recounted(
    records: Iterable[tuple[int, bytes, int]], versions: Mapping[str, int] | None = None
) -> DuckDBPyConnection:
    """A database with the table ``charges`` of these records, under these versions of the tariffs or the last ones."""
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "threads": 2})
    for name in SCHEMAS:
        _load(connection, f"create table {name} as from piece", as_table(name, []))
    for name, piece in journal_pieces(records, versions):
        _load(connection, f"insert into {name} from piece", piece)
    first_us, last_us, time_zone = connection.execute(BOUNDS).fetchall()[0]
    if first_us is not None:
        _load(connection, "insert into midnights from piece", midnights(first_us, last_us, time_zone))
    for statement in STATEMENTS.read_text().split(";\n"):
        if statement.strip():
            connection.execute(statement)
    return connection


def _load(connection: DuckDBPyConnection, statement: str, piece: pa.Table) -> None:
    connection.register("piece", piece)
    connection.execute(statement)
    connection.unregister("piece")


def line_sums(connection: DuckDBPyConnection, charges: str = "charges") -> dict[Account, Sums]:
    """The sums of a table of charges by account and line."""
    found: dict[Account, Sums] = {}
    for row in connection.execute(LINES.format(charges=charges)).fetchall():
        account, key, total = _line(row)
        found.setdefault(account, {})[key] = total
    return found


def _line(row: tuple[Any, ...]) -> tuple[Account, LineKey, Sum]:
    return Account(*row[:3]), LineKey(*row[3:7]), Sum(*row[7:])
