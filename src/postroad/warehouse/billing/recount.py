"""An independent recount of charges in DuckDB, straight from journal entries: no Spark, no shared pricing.

Rule: neither Spark, nor the table ``log``, nor any pricing code is used here, so that an error in one of them shows.
Rows are processed in pieces, so that a year's journal needs no more memory than a day's.

``recount.sql`` contains the calculation, one table per statement. It is a second implementation of
docs/explanation/billing.md, and differs from the first on purpose: it intersects tiers with the units that a use
adds, where the other takes the difference of two sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from postroad.core.billing.invoices import InvoiceAccount, LineTotal, LineTotals
from postroad.core.model.billing import LineKey
from postroad.core.model.journal import ConfigurationChanged, InvocationReturned, MessagePosted, ObjectChange, decode
from postroad.core.model.route import Hop

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection

PARTY = pa.struct([("service", pa.string()), ("payer", pa.string())])
SCHEMAS = {
    "copies": pa.schema(
        [
            *[(name, pa.int64()) for name in ("seq", "copy", "at_us", "size")],
            *[(name, pa.string()) for name in ("type", "form", "sender")],
            ("hops", pa.list_(PARTY)),
        ]
    ),
    "returns": pa.schema(
        [(name, pa.int64()) for name in ("seq", "at_us", "message", "copy", "hop", "size")]
        + [("hops", pa.list_(PARTY))]
    ),
    "objects": pa.schema(
        [
            *[("seq", pa.int64()), ("kind", pa.string()), ("key", pa.string())],
            *[("version", pa.int64()), ("value", pa.string())],
        ]
    ),
    "midnights": pa.schema([("day", pa.date32()), ("begins_us", pa.int64())]),
}
KINDS = ("service", "books", "tariff")
ROWS_PER_PIECE = 100_000

Row = tuple[Any, ...]


def read_journal_pieces(
    records: Iterable[tuple[int, bytes, int]], versions: Mapping[str, int] | None = None
) -> Iterator[tuple[str, pa.Table]]:
    """Yield rows of these records by table; ``versions`` limits the versions of tariffs."""
    known = versions or {}
    rows: dict[str, list[Row]] = {}
    for seq, facts, _ in records:
        for name, row in _rows(seq, facts):
            if name == "objects" and row[1] == "tariff" and row[3] > known.get(row[2], row[3]):
                continue
            rows.setdefault(name, []).append(row)
        for name in [name for name, found in rows.items() if len(found) >= ROWS_PER_PIECE]:
            yield name, as_table(name, rows.pop(name))
    for name, found in rows.items():
        yield name, as_table(name, found)


def midnights(first_us: int, last_us: int, time_zone: str) -> pa.Table:
    """Return when each day begins in that time zone, from before the first time to after the last."""
    first, last = (datetime.fromtimestamp(at_us // 1_000_000, UTC).date() for at_us in (first_us, last_us))
    days = [first + timedelta(days=number) for number in range(-1, (last - first).days + 2)]
    return as_table("midnights", [(day, _midnight_us(day, ZoneInfo(time_zone))) for day in days])


def as_table(name: str, rows: list[Row]) -> pa.Table:
    schema = SCHEMAS[name]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


def _rows(seq: int, facts: bytes) -> Iterator[tuple[str, Row]]:
    entry = decode(facts)
    if isinstance(entry, MessagePosted):
        for place, copy in enumerate(entry.copies):
            if not copy.code:
                about = (entry.type.value, entry.form, entry.sender, _hops(copy.hops))
                yield "copies", (seq, place, entry.at_us, entry.size, *about)
    elif isinstance(entry, InvocationReturned):
        if entry.status is None:
            where = (entry.message, entry.copy, entry.hop, entry.size)
            yield "returns", (seq, entry.at_us, *where, _hops(entry.hops) or None)
    elif isinstance(entry, ConfigurationChanged):
        for change in entry.objects:
            if change.kind in KINDS:
                yield "objects", _object(seq, change)


def _hops(hops: tuple[Hop, ...]) -> list[dict[str, str | None]]:
    return [{"service": hop.service, "payer": (hop.context.payer or None) if hop.context else None} for hop in hops]


def _object(seq: int, change: ObjectChange) -> Row:
    value = None if change.value is None else msgspec.json.encode(change.value).decode()
    return seq, change.kind, change.key, change.version, value


def _midnight_us(day: date, zone: ZoneInfo) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * 1_000_000


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


def recount_charges(
    records: Iterable[tuple[int, bytes, int]], versions: Mapping[str, int] | None = None
) -> DuckDBPyConnection:
    """Return a database with the table ``charges`` of these records, under the given or the last tariff versions."""
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "threads": 2})
    for name in SCHEMAS:
        _load(connection, f"create table {name} as from piece", as_table(name, []))
    for name, piece in read_journal_pieces(records, versions):
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


def sum_lines(connection: DuckDBPyConnection, charges: str = "charges") -> dict[InvoiceAccount, LineTotals]:
    """Return the sums of a table of charges by account and line."""
    found: dict[InvoiceAccount, LineTotals] = {}
    for row in connection.execute(LINES.format(charges=charges)).fetchall():
        account, key, total = _line(row)
        found.setdefault(account, {})[key] = total
    return found


def _line(row: tuple[Any, ...]) -> tuple[InvoiceAccount, LineKey, LineTotal]:
    return InvoiceAccount(*row[:3]), LineKey(*row[3:7]), LineTotal(*row[7:])
