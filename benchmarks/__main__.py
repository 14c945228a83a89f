"""postroad beside RabbitMQ on this machine, taking turns in one run.

    python -m benchmarks [--quick] [--rounds N] [--seconds S] [--publish] [NAME…]
    python -m benchmarks list
    python -m benchmarks profile NAME [--native]

Without names every scenario runs, then the small benchmarks of codecs and index. Results go to the screen and to
benchmarks/results/latest.json; a full run, or --publish, also rewrites the tables in docs/explanation/performance.md.
The exit code is 1 when a floor is missed.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from benchmarks import generator, machine, profiling, rabbitmq, report
from benchmarks.certificates import Certificate, make_certificate
from benchmarks.measuring import Measurement, Round, interleaved
from benchmarks.network import NetworkServer
from benchmarks.rabbitmq import RabbitMq
from benchmarks.results import Row, row
from benchmarks.scenarios import BY_NAME, SCENARIOS, Scenario
from benchmarks.sides import Duration, OurSide, PeerSide

WARMUP_MS = 500
SMALL = {"codecs": "Codecs", "indexing": "Index"}  # benchmarks of single parts, each a module of its own
PROFILE_S = 8

console = Console()
progress = Console(stderr=True)


@contextmanager
def work_folder() -> Iterator[Path]:
    """A folder on the disk of the checkout: a temporary folder may lie in memory, where syncing costs nothing."""
    place = report.ROOT / "var"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix="benchmark-") as folder:
        yield Path(folder)


@contextmanager
def peer_in(folder: Path, certificate: Certificate) -> Iterator[RabbitMq | None]:
    if reason := rabbitmq.missing():
        progress.print(f"Without a peer: {reason}", style="yellow")
        yield None
    else:
        with RabbitMq(folder / "rabbitmq", certificate) as peer:
            yield peer


def compare(
    scenario: Scenario, folder: Path, certificate: Certificate, peer: RabbitMq | None, chosen: argparse.Namespace
) -> Row:
    """All rounds of one scenario, our side on a network of its own."""
    duration = Duration(warmup_ms=WARMUP_MS, measure_ms=int(chosen.seconds * 1000))
    place = folder / scenario.name
    (place / "load").mkdir(parents=True)
    with NetworkServer(
        place / "network", shared=scenario.shared, certificate=certificate if scenario.tls else None
    ) as network:
        ours = OurSide(network, scenario, place / "load")
        sides: dict[str, Round] = {"ours": lambda: ours.round(duration)}
        if peer is not None:
            other = PeerSide(peer, scenario, place / "load")
            sides["peer"] = lambda: other.round(duration)
        return row(scenario, interleaved(sides, chosen.rounds, lambda side, result: tell(scenario, side, result)))


def tell(scenario: Scenario, side: str, result: Measurement) -> None:
    rate = result.load.received_per_s if scenario.consumes else result.load.posted_per_s
    progress.print(
        f"{scenario.name:<22} {side:<5} {rate:>9,.0f} msg/s  {result.server_cpu_us:7.1f} µs CPU"
        f"  foreign {result.foreign_cores:.2f} cores",
        highlight=False,
    )


def small_benchmark(name: str) -> str:
    progress.print(f"{name} …")
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}"], cwd=report.ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr.strip()[-500:]}"


def run_all(names: Sequence[str], chosen: argparse.Namespace) -> report.Run:
    scenarios = [scenario for scenario in SCENARIOS if scenario.name in names]
    with work_folder() as folder:
        certificate = make_certificate(folder / "certificate")
        with peer_in(folder, certificate) if scenarios else no_peer() as peer:
            rows = [compare(scenario, folder, certificate, peer, chosen) for scenario in scenarios]
        described = machine.description(folder, with_peer=peer is not None)
    return report.Run(
        command=shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=described,
        rounds=chosen.rounds,
        seconds_a_round=chosen.seconds,
        rows=rows,
        texts={title: small_benchmark(name) for name, title in SMALL.items() if name in names},
    )


@contextmanager
def no_peer() -> Iterator[None]:
    yield None


def profile(name: str, *, native: bool) -> None:
    scenario = BY_NAME[name]
    kept = report.LATEST.parent
    kept.mkdir(exist_ok=True)
    with work_folder() as folder:
        certificate = make_certificate(folder / "certificate") if scenario.tls else None
        (folder / "load").mkdir()
        with NetworkServer(folder / "network", shared=scenario.shared, certificate=certificate) as network:
            side = OurSide(network, scenario, folder / "load")
            duration = Duration(warmup_ms=WARMUP_MS, measure_ms=PROFILE_S * 1000)
            folded = kept / f"{name}.folded.txt"
            stacks = profiling.record(side, network.server_process_id, duration, folded, native=native)
    profiling.write_speedscope(stacks, name, kept / f"{name}.speedscope.json")
    profiling.print_top(stacks, console)
    console.print(f"Kept in benchmarks/results: {name}.folded.txt, {name}.speedscope.json")


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="shorter rounds: enough to see a large change")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.0, help="measured time of a round (default 4, quick 1.5)")
    parser.add_argument(
        "--publish", action="store_true", help="rewrite the tables of the documentation even after a partial run"
    )
    parser.add_argument("--native", action="store_true", help="profile: show C functions too")
    chosen = parser.parse_args()
    chosen.seconds = chosen.seconds or (1.5 if chosen.quick else 4.0)
    known = {*BY_NAME, *SMALL}
    subjects = chosen.names[1:] if chosen.names[:1] == ["profile"] else chosen.names
    if unknown := [name for name in subjects if name not in known and subjects != ["list"]]:
        parser.error(f"there is no benchmark {', '.join(unknown)}; `python -m benchmarks list` shows them")
    return chosen


def list_names() -> None:
    for scenario in SCENARIOS:
        console.print(f"{scenario.name:<24} {scenario.group}: {scenario.title}", highlight=False)
    for name, title in SMALL.items():
        console.print(f"{name:<24} {title} alone", highlight=False)


def main() -> int:
    chosen = read_arguments()
    if chosen.names == ["list"]:
        list_names()
        return 0
    if reason := generator.missing():
        progress.print(reason, style="red")
        return 2
    if chosen.names[:1] == ["profile"]:
        for name in chosen.names[1:]:
            profile(name, native=chosen.native)
        return 0
    run = run_all(chosen.names or [*BY_NAME, *SMALL], chosen)
    finish(run, publishes=chosen.publish or not (chosen.names or chosen.quick))
    return int(any(not verdict.holds for row in run.rows for verdict in row.verdicts))


def finish(run: report.Run, *, publishes: bool) -> None:
    report.print_tables(run, console)
    for title, text in run.texts.items():
        console.print(f"\n{title}\n{text}", highlight=False)
    report.write_json(run)
    if publishes:
        report.publish(run)


if __name__ == "__main__":
    sys.exit(main())
