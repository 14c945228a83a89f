"""The journal as the small tables that the recount starts from, straight from entries and past everything else.

Kept rule: neither Spark, nor the table ``log``, nor any code of the pricing is used here, so that a mistake in one of them shows.
Rows are handed on in pieces, so that a year's journal needs no more memory than a day's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa

from postroad.core.model.journal import (
    ConfigurationChanged,
    Hop,
    InvocationReturned,
    MessagePosted,
    ObjectChange,
    decode,
)

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


def journal_pieces(
    records: Iterable[tuple[int, bytes, int]], versions: Mapping[str, int] | None = None
) -> Iterator[tuple[str, pa.Table]]:
    """Rows of these records by the name of their table; of tariffs no later versions than those given, where any are."""
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
    """When each day begins on a wall in that zone, from before the first moment to after the last."""
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
