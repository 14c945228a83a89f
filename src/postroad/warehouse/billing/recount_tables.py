"""The journal as the small tables that the recount starts from, straight from entries and past everything else.

Kept rule: neither Spark, nor the table ``log``, nor any code of the pricing is used here, so that a mistake in one of them shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
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
    "midnights": pa.schema([("day", pa.date32()), ("begins_us", pa.int64())]),
    "objects": pa.schema(
        [
            ("seq", pa.int64()),
            ("kind", pa.string()),
            ("key", pa.string()),
            ("version", pa.int64()),
            ("value", pa.string()),
        ]
    ),
}
KINDS = ("service", "books", "tariff")


@dataclass(slots=True)
class JournalTables:
    """Rows while they are gathered."""

    copies: list[tuple[Any, ...]] = field(default_factory=list)
    returns: list[tuple[Any, ...]] = field(default_factory=list)
    objects: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def midnights(self) -> list[tuple[date, int]]:
        """When each day begins by the books, from before the first to after the last."""
        moments = [row[2] for row in self.copies] + [row[1] for row in self.returns]
        if not moments:
            return []
        zone = ZoneInfo(self._time_zone())
        first, last = (datetime.fromtimestamp(at_us // 1_000_000, UTC).date() for at_us in (min(moments), max(moments)))
        days = (first + timedelta(days=number) for number in range(-1, (last - first).days + 2))
        return [(day, int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp()) * 1_000_000) for day in days]

    def _time_zone(self) -> str:
        books = [row for row in self.objects if row[1] == "books" and row[4] is not None]
        zone: str = msgspec.json.decode(max(books, key=lambda row: row[3])[4])["time_zone"] if books else "UTC"
        return zone

    def add(self, seq: int, facts: bytes) -> None:
        entry = decode(facts)
        if isinstance(entry, MessagePosted):
            self.copies += [
                (seq, place, entry.at_us, entry.size, entry.type.value, entry.form, entry.sender, _hops(copy.hops))
                for place, copy in enumerate(entry.copies)
                if not copy.code
            ]
        elif isinstance(entry, InvocationReturned):
            if entry.status is None:
                where = (entry.message, entry.copy, entry.hop, entry.size)
                self.returns.append((seq, entry.at_us, *where, _hops(entry.hops) or None))
        elif isinstance(entry, ConfigurationChanged):
            self.objects += [_object(seq, change) for change in entry.objects if change.kind in KINDS]

    def tables(self) -> dict[str, pa.Table]:
        return {name: _table(getattr(self, name), schema) for name, schema in SCHEMAS.items()}


def journal_tables(
    records: Iterable[tuple[int, bytes, int]], versions: Mapping[str, int] | None = None
) -> dict[str, pa.Table]:
    """The tables of these records; of tariffs no later versions than those given, where any are."""
    found = JournalTables()
    for seq, facts, _ in records:
        found.add(seq, facts)
    known = versions or {}
    found.objects = [row for row in found.objects if row[1] != "tariff" or row[3] <= known.get(row[2], row[3])]
    return found.tables()


def _hops(hops: tuple[Hop, ...]) -> list[dict[str, str | None]]:
    return [{"service": hop.service, "payer": (hop.context.payer or None) if hop.context else None} for hop in hops]


def _object(seq: int, change: ObjectChange) -> tuple[Any, ...]:
    value = None if change.value is None else msgspec.json.encode(change.value).decode()
    return seq, change.kind, change.key, change.version, value


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )
