"""Comparing the table ``log`` with the journal it was made of."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pyarrow as pa

from postroad.testing.traffic.generate import generate
from postroad.testing.traffic.plan import TrafficPlan
from postroad.warehouse.landing.log import SCHEMA, event_batches
from postroad.warehouse.sources import LogSource, SegmentLog, Span
from postroad.warehouse.store import DeltaStore

KEY = [("seq", "ascending"), ("ordinal", "ascending")]


def made_up_journal(folder: Path, messages: int, seed: int = 7) -> SegmentLog:
    """A journal of a few days of traffic."""
    asyncio.run(generate(TrafficPlan(organizations=12, days=3, messages=messages, seed=seed), folder))
    return SegmentLog(folder=folder)


def events(source: LogSource) -> pa.Table:
    """What the table must hold: the journal's events, made without Spark."""
    batches = event_batches(source.records(Span(0, source.head())))
    return pa.Table.from_batches(batches, SCHEMA).sort_by(KEY)


def landed(store: DeltaStore) -> pa.Table:
    """What it holds."""
    found = store.read("log").drop("landed_on").toArrow()
    return found.cast(SCHEMA).sort_by(KEY)


def counts(store: DeltaStore) -> dict[str, Any]:
    row = store.read("log").selectExpr("count(*) n", "count(distinct seq, ordinal) keys", "max(seq) last").collect()[0]
    return {"rows": row.n, "keys": row.keys, "last": row["last"]}
