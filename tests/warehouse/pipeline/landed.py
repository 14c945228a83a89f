"""Comparing the table ``log`` with the journal it was made of."""

from __future__ import annotations

import asyncio
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from postroad.testing.traffic.generate import generate
from postroad.testing.traffic.plan import TrafficPlan
from postroad.warehouse.jobs.landing import APP
from postroad.warehouse.landing.log import SCHEMA, event_batches
from postroad.warehouse.sources import EntrySpan, LogSource, SegmentLog

KEY = [("seq", "ascending"), ("ordinal", "ascending")]


def made_up_journal(folder: Path, messages: int, first_day: date = date(2026, 10, 1)) -> SegmentLog:
    """A journal of a few days of traffic."""
    asyncio.run(generate(TrafficPlan(organizations=12, days=3, messages=messages, first_day=first_day), folder))
    return SegmentLog(folder=folder)


def events(source: LogSource) -> pa.Table:
    """What the table must hold: the journal's events, made without Spark."""
    batches = event_batches(source.records(EntrySpan(0, source.head())))
    return pa.Table.from_batches(batches, SCHEMA).sort_by(KEY)


def landed(folder: Path) -> pa.Table:
    """What the warehouse in this folder holds, read without Spark."""
    found = DeltaTable(str(folder / "log")).to_pyarrow_table(columns=SCHEMA.names)
    return found.cast(SCHEMA).sort_by(KEY)


def landed_upto(folder: Path) -> int:
    """How far it says it has come; 0 when there is no table yet."""
    uri = str(folder / "log")
    return DeltaTable(uri).transaction_version(APP) or 0 if DeltaTable.is_deltatable(uri) else 0


def counts(folder: Path) -> dict[str, Any]:
    keys = DeltaTable(str(folder / "log")).to_pyarrow_table(columns=["seq", "ordinal"])
    return {
        "rows": keys.num_rows,
        "keys": keys.group_by(["seq", "ordinal"]).aggregate([]).num_rows,
        "last": pc.max(keys["seq"]).as_py(),
    }
