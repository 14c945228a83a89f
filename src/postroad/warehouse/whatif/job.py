"""What-if on Spark: one pass over the pieces of a journal, then the tables of the report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from postroad.core.codecs.lexical import write_time
from postroad.services.exchange.callables import Routing
from postroad.warehouse.bulk.job import SHARES_PER_CORE, Batches, count_rows, divide_by_weight, map_shares
from postroad.warehouse.bulk.read.archive import ArchivePiece
from postroad.warehouse.bulk.read.directories import (
    DirectoryText,
    DirectoryVersions,
    directory_from_text,
    directory_text,
)
from postroad.warehouse.whatif import report_tables
from postroad.warehouse.whatif.billing import compare_bills
from postroad.warehouse.whatif.journal_replay import TimeWindow, WhatIfQuestion, replay_pieces
from postroad.warehouse.whatif.report import PortChange, WhatIfReport
from postroad.warehouse.whatif.rows import SCHEMA, record_batches
from postroad.warehouse.whatif.send_ports import (
    batch_members_frame,
    billed_rows,
    find_ports,
    port_arrivals_frame,
    port_changes,
)

if TYPE_CHECKING:
    from pyspark import Accumulator, Broadcast
    from pyspark.sql import DataFrame, SparkSession

TODAY, THEN = "today", "then"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfJob:
    """A what-if run: the question and the pieces of the journal."""

    question: WhatIfQuestion
    pieces: Sequence[ArchivePiece]
    rows: Accumulator[int] | None = None  # counts rows as they are computed, for the progress display


def compare_journal(spark: SparkSession, run: WhatIfJob) -> DataFrame:
    """Return one row for every relevant entry, in one pass."""
    question = run.question
    history = question.history.text() if question.history is not None and question.as_it_was else b""
    told = spark.sparkContext.broadcast(
        BroadcastDirectories(directory_text(question.before), directory_text(question.after), history)
    )
    asked = PassOptions(question.window, question.as_it_was, question.routings)
    shares = divide_by_weight(run.pieces, SHARES_PER_CORE * spark.sparkContext.defaultParallelism)
    return map_shares(spark, shares, _pass(told, asked, run.rows), SCHEMA)


class BroadcastDirectories(NamedTuple):
    """The directories as sent to workers."""

    before: DirectoryText
    after: DirectoryText
    history: bytes  # empty if not requested


class PassOptions(NamedTuple):
    """The other parameters of the pass."""

    window: TimeWindow
    as_it_was: bool
    routings: Mapping[str, Routing]


def _pass(
    told: Broadcast[BroadcastDirectories], asked: PassOptions, rows: Accumulator[int] | None
) -> Callable[[Iterator[ArchivePiece]], Batches]:
    def work_on(pieces: Iterator[ArchivePiece]) -> Batches:
        history = told.value.history
        question = WhatIfQuestion(
            before=directory_from_text(told.value.before),
            after=directory_from_text(told.value.after),
            window=asked.window,
            as_it_was=asked.as_it_was,
            history=DirectoryVersions.from_text(history) if history else None,
            routings=asked.routings,
        )
        return count_rows(record_batches(replay_pieces(pieces, question)), rows)

    return work_on


def keep_rows(spark: SparkSession, rows: DataFrame, folder: str = "") -> DataFrame:
    """Return the rows, computed once: stored in a folder if one is named, else cached by the workers."""
    if not folder:
        return rows.persist()
    where = folder if "://" in folder else Path(folder).absolute().as_uri()
    rows.write.parquet(where)
    return spark.read.parquet(where)


def make_report(spark: SparkSession, rows: DataFrame, question: WhatIfQuestion) -> WhatIfReport:
    """Return the report of stored rows; see ``keep_rows``."""
    traffic, days = report_tables.count_days(rows)
    changed = report_tables.changed_copies(rows)
    window = question.window
    ports, billed = _compare_ports(rows, question)
    return WhatIfReport(
        begins=write_time(window.from_us) if window.from_us else "",
        ends=write_time(window.to_us) if window.to_us else "",
        baseline=THEN if question.as_it_was else TODAY,
        traffic=traffic,
        days=days,
        differences=report_tables.count_differences(changed),
        services=report_tables.list_service_gains(changed),
        reasons=report_tables.list_reasons(changed),
        examples=report_tables.list_examples(changed),
        bills=compare_bills(spark, billed, question.before, question.after),
        ports=ports,
    )


def _compare_ports(rows: DataFrame, question: WhatIfQuestion) -> tuple[tuple[PortChange, ...], DataFrame]:
    """Return the changes at send ports, and the rows with the interchanges that ports send."""
    before, after = question.before, question.after
    ports = find_ports(before, after, question.batch_bytes)
    if not ports:
        return (), rows
    arrivals = port_arrivals_frame(rows)
    gathered = batch_members_frame(arrivals, ports).persist()
    sent = billed_rows(arrivals, gathered, ports, before, after)
    return port_changes(arrivals, gathered, before, after), rows.unionByName(sent, allowMissingColumns=True)
