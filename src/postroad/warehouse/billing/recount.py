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
from postroad.warehouse.billing.recount_tables import journal_tables

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

STATEMENTS = files("postroad.warehouse.billing").joinpath("recount.sql")
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
    for name, table in journal_tables(records, versions).items():
        connection.register(f"given_{name}", table)
        connection.execute(f"create table {name} as from given_{name}")
    for statement in STATEMENTS.read_text().split(";\n"):
        if statement.strip():
            connection.execute(statement)
    return connection


def line_sums(connection: DuckDBPyConnection, charges: str = "charges") -> dict[Account, Sums]:
    """The sums of a table of charges by account and line."""
    found: dict[Account, Sums] = {}
    for row in connection.execute(LINES.format(charges=charges)).fetchall():
        account, key, total = _line(row)
        found.setdefault(account, {})[key] = total
    return found


def _line(row: tuple[Any, ...]) -> tuple[Account, LineKey, Sum]:
    return Account(*row[:3]), LineKey(*row[3:7]), Sum(*row[7:])
