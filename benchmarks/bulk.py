"""What Spark costs a bulk operation: routing an archive on Spark beside the same by plain processes, one for each core.

    python -m benchmarks.bulk [--messages N] [--rounds N] [--processes N]

Both sides read the same pieces of an NDJSON archive of orders of 2 KB, route them through a network whose rules look into header
and body and bring in two services, and write one row for each message as Parquet. The plain side is what one would write without
Spark: processes that take shares of the pieces and write them down. Both are warm, they take turns, and the best round counts.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from msgspec.structs import replace

from benchmarks.cpu_time import Spent, spent
from benchmarks.payload import SENDER
from benchmarks.routing import network
from benchmarks.routing_cases import BODY, ORDER
from postroad.core.codecs.json_form import JSON_FORM
from postroad.warehouse.bulk.job import BulkRun, divide_by_weight, run_locally
from postroad.warehouse.bulk.operation import schema_of
from postroad.warehouse.bulk.output import PARQUET, write_file, write_results
from postroad.warehouse.bulk.read.archive import ArchivePiece, list_pieces
from postroad.warehouse.bulk.read.directories import DirectoryText, directory_from_text, directory_text
from postroad.warehouse.bulk.read.messages import ArchiveDefaults
from postroad.warehouse.bulk.routing import RouteOperation
from postroad.warehouse.session import WarehouseSettings, spark_session

FLOOR = 0.85
RULES = 1_000
SHARES_PER_PROCESS = 4
UNSAID = ArchiveDefaults(sender=SENDER, at_us=1_794_909_600_000_000)

Side = Callable[[Path], None]


def make_archive(folder: Path, count: int) -> None:
    with (folder / "orders.ndjson").open("wb") as file:
        for number in range(count):
            file.write(JSON_FORM.encode_post(replace(ORDER, handle=f"order-{number}")) + b"\n")


def plain_share(pieces: list[ArchivePiece], text: DirectoryText, file: Path) -> int:
    operation = RouteOperation()
    return write_file(
        run_locally(pieces, operation, directory_from_text(text), UNSAID), schema_of(operation), str(file)
    ).total()


def plain_side(pool: Pool, pieces: list[ArchivePiece], text: DirectoryText, processes: int, messages: int) -> Side:
    shares = divide_by_weight(pieces, SHARES_PER_PROCESS * processes)

    def run(folder: Path) -> None:
        tasks = [(share, text, folder / f"{number}.parquet") for number, share in enumerate(shares)]
        check_count({"rows": sum(pool.starmap(plain_share, tasks, chunksize=1))}, messages)

    return run


def check_count(counts: Mapping[str, Any], messages: int) -> None:
    if counts["rows"] != messages:
        raise AssertionError(f"{messages} messages gave {counts}")


def check(plain: Path, spark: Path) -> None:
    """Both sides must have written the same."""
    ours, theirs = (pq.read_table(folder).sort_by("position") for folder in (spark / PARQUET, plain))
    if ours.to_pylist()[:1000] != theirs.to_pylist()[:1000] or ours.num_rows != theirs.num_rows:
        raise AssertionError("the two sides wrote different rows")


def best_of(sides: dict[str, Side], rounds: int, folder: Path) -> dict[str, Spent]:
    """The least wall time and the least CPU time of each side; a busy machine shows up in the former first."""
    best = {name: Spent(float("inf"), float("inf")) for name in sides}
    for number in range(rounds + 1):  # the first round warms everything up
        for name, side in sides.items():
            target = folder / f"{name}-{number}"
            took = spent(partial(side, target))
            if number:
                best[name] = Spent(*map(min, best[name], took))
                print(f"  {name:16}{took.wall_s:8.2f} s wall {took.cpu_s:8.2f} s CPU", file=sys.stderr)
                shutil.rmtree(target)
        if not number:
            check(folder / "plain-0", folder / "spark-0")
    return best


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--messages", type=int, default=60_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    directory = network(RULES, BODY)
    with tempfile.TemporaryDirectory() as name, multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        folder = Path(name)
        make_archive(folder, given.messages)
        pieces = list_pieces(str(folder))
        spark = spark_session(WarehouseSettings(folder=folder, master=f"local[{given.processes}]"), "benchmark")
        run = BulkRun(operation=RouteOperation(), pieces=pieces, directory=directory, unsaid=UNSAID)
        sides: dict[str, Side] = {
            "plain": plain_side(pool, pieces, directory_text(directory), given.processes, given.messages),
            "spark": lambda target: check_count(write_results(spark, run, str(target)), given.messages),
        }
        best = best_of(sides, given.rounds, folder)
        spark.stop()
    share = best["plain"].wall_s / best["spark"].wall_s
    if given.json:
        sides_told = {name: took._asdict() for name, took in best.items()}
        print(json.dumps({"messages": given.messages, **sides_told, "share": share, "floor": FLOOR}))
    else:
        for name, took in best.items():
            rate = given.messages / took.wall_s
            print(f"{name:16}{rate:12,.0f} messages/s {took.wall_s:8.2f} s wall {took.cpu_s:8.2f} s CPU")
        print(f"Spark reaches {share:.0%} of {given.processes} plain processes; the floor is {FLOOR:.0%}")
    sys.exit(share < FLOOR)


if __name__ == "__main__":
    main()
