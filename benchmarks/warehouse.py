"""The jobs of the warehouse, each as a share of what merely reading the log costs, and beside DuckDB.

    python -m benchmarks.warehouse [--events 1e6 1e7] [--rounds N] [--cores N] [--folder FOLDER] [--publish]

The anchor S is how many rows of the log a CPU-second reads, all columns of it, from Parquet in the same warm session; so the
shares say what a job costs on any machine. CPU seconds are those of the driver, its JVM and all Python workers; the best
round counts. The log is made up by `postroad simulate`'s generator; the sizes are run one after the other in one session, the
largest first, so that none of them pays for compiling the code of the others.
The exit code is 1 when a floor is missed. --publish rewrites the table in docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.cpu_time import Spent, spent
from benchmarks.machine import description
from benchmarks.sections import PAGE, publish
from benchmarks.warehouse_peer import HISTORIES, TRANSACTIONS, USAGE, Peer
from postroad.testing.traffic.generate import generate
from postroad.testing.traffic.plan import TrafficPlan
from postroad.warehouse.billing.price_list import owners
from postroad.warehouse.jobs.export import export
from postroad.warehouse.jobs.landing import land, land_archive
from postroad.warehouse.marts.message_histories import message_histories
from postroad.warehouse.marts.transactions import transactions
from postroad.warehouse.marts.usage import usage
from postroad.warehouse.session import WarehouseSettings, spark_session
from postroad.warehouse.sources import Archive, SegmentLog
from postroad.warehouse.sources.archive import Form
from postroad.warehouse.store import DeltaStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS_PER_MESSAGE = 5.45  # rows of the log for each message that opens a transaction
LANDED_ON = date(2026, 11, 1)
AGAINST_PEER = 6.0  # times DuckDB's CPU at most
FLOORS = {"usage": 1.5, "correlation": 0.4, "histories": 0.3, "landing JSON lines": 0.075, "landing Parquet": 0.15}

Job = Callable[[Path], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One job at one size; ``events`` are the rows of the log that it covers."""

    job: str
    events: int
    spark: Spent
    peer: Spent | None
    anchor: float  # rows of the log that a CPU-second reads

    @property
    def share(self) -> float:
        return self.events / self.spark.cpu_s / self.anchor

    @property
    def against_peer(self) -> float | None:
        return self.spark.cpu_s / self.peer.cpu_s if self.peer is not None else None

    @property
    def misses(self) -> bool:
        floor = FLOORS.get(self.job)
        return (floor is not None and self.share < floor) or (self.against_peer or 0) > AGAINST_PEER


class Sized:
    """The files of one size, and the jobs over them."""

    def __init__(self, spark: SparkSession, peer: Peer, folder: Path, events: int) -> None:
        self.spark, self.peer, self.folder = spark, peer, folder
        self.plan = TrafficPlan(messages=round(events / EVENTS_PER_MESSAGE), body_bytes=60)
        self.journal = folder / "journal"
        self.lines, self.parquet = folder / "lines", folder / "parquet"

    def prepare(self) -> None:
        """The journal and both archives of it, rebuilt unless --folder has them from another run."""
        if not self.journal.exists():
            asyncio.run(generate(self.plan, self.journal))
        source = SegmentLog(folder=self.journal)
        archives: tuple[tuple[Path, Form], ...] = ((self.lines, "jsonl"), (self.parquet, "parquet"))
        for folder, form in archives:
            if not folder.exists():
                export(source, folder, form)
        self.peer.view("log", f"{self.parquet}/*.parquet")
        self.events = self.log().count()

    def log(self) -> DataFrame:
        return Archive(folder=self.parquet, form="parquet").frame(self.spark, sorted(self.parquet.glob("*.parquet")))

    def histories(self) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / "histories"))

    def keep_histories(self) -> None:
        message_histories(self.log()).write.mode("overwrite").parquet(str(self.folder / "histories"))
        self.peer.view("histories", f"{self.folder}/histories/*.parquet")

    def scan(self, _: Path) -> None:
        self.log().write.format("noop").mode("overwrite").save()

    def jobs(self) -> dict[str, tuple[Job, Job | None]]:
        """Spark's side and DuckDB's, by name; each is given a place to write to."""
        return {
            "usage": (
                lambda to: usage(self.log(), owners(self.log())).write.parquet(str(to)),
                lambda to: self.peer.write(USAGE, to),
            ),
            "correlation": (
                lambda to: transactions(self.histories()).write.parquet(str(to)),
                lambda to: self.peer.write(TRANSACTIONS, to),
            ),
            "histories": (
                lambda to: message_histories(self.log()).write.parquet(str(to)),
                lambda to: self.peer.write(HISTORIES, to),
            ),
            "landing JSON lines": (
                lambda to: self._land_archive(self.lines, to),
                lambda to: self.peer.land_lines(self.lines, to),
            ),
            "landing Parquet": (
                lambda to: self._land_archive(self.parquet, to),
                lambda to: self.peer.land_parquet(self.parquet, to),
            ),
            "landing the journal": (lambda to: land(self.spark, DeltaStore(self.spark, to), self._source()), None),
        }

    def _source(self) -> SegmentLog:
        return SegmentLog(folder=self.journal)

    def _land_archive(self, folder: Path, to: Path) -> None:
        archive = Archive.found_in(folder)
        land_archive(self.spark, DeltaStore(self.spark, to), archive, today=lambda: LANDED_ON)


def best(work: Job, rounds: int, folder: Path) -> Spent:
    """The round that took least CPU; whoever asks has warmed everything up."""
    found = []
    for number in range(rounds):
        target = folder / f"out-{number}"
        found.append(spent(lambda to=target: work(to)))  # type: ignore[misc]
        _remove(target)
    return min(found)


def check(sized: Sized, name: str, ours: Job, peers: Job | None) -> None:
    """Do the work once on both sides, which also warms them up: they must write as many rows."""
    mine, theirs = sized.folder / "spark-rows", sized.folder / "duckdb-rows"
    _remove(mine)  # of a run that was broken off
    _remove(theirs)
    ours(mine)
    if peers is not None:
        peers(theirs)
        store = DeltaStore(sized.spark, mine)
        rows = store.rows("log") if store.exists("log") else sized.spark.read.parquet(str(mine)).count()
        if rows != sized.peer.rows(theirs):
            raise AssertionError(f"{name}: Spark wrote {rows} rows, DuckDB {sized.peer.rows(theirs)}")
    _remove(mine)
    _remove(theirs)


def _remove(target: Path) -> None:
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


def measured(sized: Sized, rounds: int) -> list[Figures]:
    sized.prepare()
    sized.keep_histories()
    sized.scan(sized.folder)
    scan = best(sized.scan, rounds, sized.folder)
    anchor = sized.events / scan.cpu_s
    print(f"{sized.events:,} events; S = {anchor:,.0f} rows a CPU-second", file=sys.stderr)
    found = []
    for name, (ours, peers) in sized.jobs().items():
        check(sized, name, ours, peers)
        spark = best(ours, rounds, sized.folder)
        peer = best(peers, rounds, sized.folder) if peers is not None else None
        found.append(Figures(job=name, events=sized.events, spark=spark, peer=peer, anchor=anchor))
        print(line(found[-1]), file=sys.stderr)
    return found


def line(one: Figures) -> str:
    floor = FLOORS.get(one.job)
    goal = "" if floor is None else f" {'✗' if one.share < floor else '✓'} (≥ {floor:.1%})"
    against = (
        "" if one.against_peer is None else f"{one.against_peer:.1f}×{' ✗' if one.against_peer > AGAINST_PEER else ''}"
    )
    peer = "" if one.peer is None else f"{one.peer.cpu_s:.2f}"
    cells = (
        one.job,
        f"{one.events:,}",
        f"{one.spark.wall_s:.2f}",
        f"{one.spark.cpu_s:.2f}",
        f"{one.share:.1%}{goal}",
        peer,
        against,
    )
    return f"| {' | '.join(cells)} |"


class Growth(NamedTuple):
    """How the CPU of a job grew with the events."""

    job: str
    times: float
    more_events: float

    @property
    def misses(self) -> bool:
        return self.times > self.more_events

    def __str__(self) -> str:
        mark = " ✗" if self.misses else ""
        return f"- {self.job}: {self.times:.1f} times the CPU for {self.more_events:.1f} times the events{mark}"


def growth(figures: list[Figures]) -> list[Growth]:
    """Of every job that ran at two sizes."""
    found = []
    for name in dict.fromkeys(one.job for one in figures):
        sizes = sorted((one for one in figures if one.job == name), key=lambda one: one.events)
        if len(sizes) > 1:
            first, last = sizes[0], sizes[-1]
            found.append(Growth(name, last.spark.cpu_s / first.spark.cpu_s, last.events / first.events))
    return found


def page(figures: list[Figures], command: str) -> str:
    machine = description(PAGE.parent, with_peer=False)
    head = [
        "| job | events | wall s | CPU s | share of S | DuckDB CPU s | Spark / DuckDB |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    anchors = dict.fromkeys((one.events, one.anchor) for one in figures)
    reads = "; ".join(f"S at {events:,} events: {anchor:,.0f} rows a CPU-second" for events, anchor in anchors)
    about = [f"- {name}: {value}" for name, value in machine.items()]
    lines = [f"`{command}` on {datetime.now(UTC):%Y-%m-%d}. {reads}.", "", *about, "", *head, *map(line, figures), ""]
    return "\n".join([*lines, *map(str, growth(figures))])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--events", type=float, nargs="+", default=[1e6])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--cores", type=int, default=2)
    options.add_argument("--memory", default="6g")
    options.add_argument("--folder", type=Path)
    options.add_argument("--publish", action="store_true")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.folder or Path(scratch)
        settings = WarehouseSettings(folder=folder, master=f"local[{given.cores}]", driver_memory=given.memory)
        spark = spark_session(settings, "benchmark")
        figures: list[Figures] = []
        for events in sorted(given.events, reverse=True):
            place = folder / f"{events:.0f}"
            place.mkdir(parents=True, exist_ok=True)
            figures += measured(Sized(spark, Peer(given.cores), place, int(events)), given.rounds)
        spark.stop()
    sizes = " ".join(f"{events:.0e}".replace("e+0", "e") for events in given.events)
    text = page(
        figures, f"python -m benchmarks.warehouse --events {sizes} --rounds {given.rounds} --memory {given.memory}"
    )
    print(text)
    if given.publish:
        publish("warehouse", text)
    rows: list[Figures | Growth] = [*figures, *growth(figures)]
    sys.exit(any(row.misses for row in rows))


if __name__ == "__main__":
    main()
