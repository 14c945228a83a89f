"""What-if on Spark: one pass over the pieces of a journal, then the tables of the report from its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from postroad.core.codecs.lexical import write_time
from postroad.services.callables import Routing
from postroad.warehouse.bulk.archive import Piece
from postroad.warehouse.bulk.configuration import Directories
from postroad.warehouse.bulk.directory_text import DirectoryText, directory_from, text_of
from postroad.warehouse.bulk.job import SHARES_PER_CORE, Batches, counted, over_shares, shares_of
from postroad.warehouse.whatif import tables
from postroad.warehouse.whatif.billing import bills
from postroad.warehouse.whatif.port_batches import arrived, members, ports_of
from postroad.warehouse.whatif.port_report import PortChange
from postroad.warehouse.whatif.port_tables import billed_rows, port_changes
from postroad.warehouse.whatif.report import Report
from postroad.warehouse.whatif.rows import SCHEMA, batches
from postroad.warehouse.whatif.traffic import Question, Window, rows_of

if TYPE_CHECKING:
    from pyspark import Accumulator, Broadcast
    from pyspark.sql import DataFrame, SparkSession

TODAY, THEN = "today", "then"


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRun:
    question: Question
    pieces: Sequence[Piece]
    rows: Accumulator[int] | None = None  # counts them while they are made, for whoever watches


def compared_rows(spark: SparkSession, run: WhatIfRun) -> DataFrame:
    """The one pass: a row for every entry that counts."""
    question = run.question
    history = question.history.text() if question.history is not None and question.as_it_was else b""
    told = spark.sparkContext.broadcast(Told(text_of(question.before), text_of(question.after), history))
    asked = Asked(question.window, question.as_it_was, question.routings)
    shares = shares_of(run.pieces, SHARES_PER_CORE * spark.sparkContext.defaultParallelism)
    return over_shares(spark, shares, _pass(told, asked, run.rows), SCHEMA)


class Told(NamedTuple):
    """Configurations as they are sent to workers."""

    before: DirectoryText
    after: DirectoryText
    history: bytes  # empty where it is not asked for


class Asked(NamedTuple):
    """The rest of the question."""

    window: Window
    as_it_was: bool
    routings: Mapping[str, Routing]


def _pass(told: Broadcast[Told], asked: Asked, rows: Accumulator[int] | None) -> Callable[[Iterator[Piece]], Batches]:
    def work_on(pieces: Iterator[Piece]) -> Batches:
        history = told.value.history
        question = Question(
            before=directory_from(told.value.before),
            after=directory_from(told.value.after),
            window=asked.window,
            as_it_was=asked.as_it_was,
            history=Directories.from_text(history) if history else None,
            routings=asked.routings,
        )
        return counted(batches(rows_of(pieces, question)), rows)

    return work_on


def kept(spark: SparkSession, rows: DataFrame, folder: str = "") -> DataFrame:
    """The same rows, made once however often they are asked for: in a folder where one is named, else with the workers."""
    if not folder:
        return rows.persist()
    where = folder if "://" in folder else Path(folder).absolute().as_uri()
    rows.write.parquet(where)
    return spark.read.parquet(where)


def report_of(spark: SparkSession, rows: DataFrame, question: Question) -> Report:
    """The report of rows that are kept; see ``kept``."""
    traffic, days = tables.counted_days(rows)
    changed = tables.changes(rows)
    window = question.window
    ports, billed = _ports(rows, question)
    return Report(
        begins=write_time(window.from_us) if window.from_us else "",
        ends=write_time(window.to_us) if window.to_us else "",
        baseline=THEN if question.as_it_was else TODAY,
        traffic=traffic,
        days=days,
        differences=tables.differences(changed),
        services=tables.services(changed),
        reasons=tables.reasons(changed),
        examples=tables.examples(changed),
        bills=bills(spark, billed, question.before, question.after),
        ports=ports,
    )


def _ports(rows: DataFrame, question: Question) -> tuple[tuple[PortChange, ...], DataFrame]:
    """What becomes of messages at send ports, and the rows with what ports send of them."""
    before, after = question.before, question.after
    ports = ports_of(before, after, question.batch_bytes)
    if not ports:
        return (), rows
    arrivals = arrived(rows)
    gathered = members(arrivals, ports).persist()
    sent = billed_rows(arrivals, gathered, ports, before, after)
    return port_changes(arrivals, gathered, before, after), rows.unionByName(sent, allowMissingColumns=True)
