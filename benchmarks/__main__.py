"""postroad beside RabbitMQ on this machine, taking turns in one run.

    python -m benchmarks [--quick] [--rounds N] [--seconds S] [--publish] [NAME…]
    python -m benchmarks list
    python -m benchmarks profile NAME [--native]

Without names every scenario runs, then the small benchmarks of single parts. Results
go to the screen and to benchmarks/results/latest.json; a full run with the peer, or --publish, also rewrites the tables in
docs/explanation/performance.md.
The exit code is 1 when a floor is missed or a scenario failed, 2 when something needed is missing.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console

from benchmarks import generator, profiling, report
from benchmarks.certificates import make_certificate
from benchmarks.comparing import WARMUP_MS, Comparison, Pace, compare_all, progress, work_folder
from benchmarks.machine import description
from benchmarks.network import NetworkServer
from benchmarks.scenarios import BY_NAME, SCENARIOS
from benchmarks.sides import Duration, OurSide

SMALL = {
    "codecs": "Codecs",
    "indexing": "Index",
    "opening": "Restart with many waiting deliveries",
    "finding": "Finding messages",
    "transforming": "Transforms",
    "scripting": "Scripts of bindings",
    "routing": "Rules and routes",
    "isolation": "Slow receivers and many recipients",
    "mime": "MIME and DIME",
    "as2": "AS2",
    "interchange": "Interchanges",
    "batching": "Batches",
}  # benchmarks of single parts, each a module of its own
PROFILE_S = 8

console = Console(width=None if sys.stdout.isatty() else 140)


def run_all(names: Sequence[str], pace: Pace) -> report.Run:
    scenarios = [scenario for scenario in SCENARIOS if scenario.name in names]
    compared = (
        compare_all(scenarios, pace) if scenarios else Comparison(machine=description(report.ROOT, with_peer=False))
    )
    texts, failed = small_benchmarks([name for name in SMALL if name in names])
    return report.Run(
        command=shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        date=f"{datetime.now(UTC):%Y-%m-%d}",
        machine=compared.machine,
        rounds=pace.rounds,
        seconds_a_round=pace.seconds,
        rows=compared.rows,
        failures=compared.failures | failed,
        texts=texts,
    )


def small_benchmarks(names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """What each printed, by its title; and why some failed: what they are to reach was missed, or they broke off."""
    texts, failed = {}, {}
    for name in names:
        progress.print(f"{name} …")
        command = [sys.executable, "-m", f"benchmarks.{name}"]
        done = subprocess.run(command, cwd=report.ROOT, capture_output=True, text=True, check=False)
        texts[SMALL[name]] = done.stdout
        if done.returncode:
            failed[name] = done.stderr.strip()[-500:]
    return texts, failed


def profile_scenario(name: str, *, native: bool) -> None:
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
            profiles = profiling.record(side, network.server_process_id, duration, folded, native=native)
    profiling.write_speedscope(profiles, kept / f"{name}.speedscope.json")
    for profile in profiles:
        profiling.print_top(profile, console)
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
        "--publish", action="store_true", help="rewrite the documentation's tables after a partial run too"
    )
    parser.add_argument("--native", action="store_true", help="profile: show C functions too")
    chosen = parser.parse_args()
    chosen.seconds = chosen.seconds or (1.5 if chosen.quick else 4.0)
    check_names(parser, chosen.names)
    return chosen


def check_names(parser: argparse.ArgumentParser, names: Sequence[str]) -> None:
    if list(names) == ["list"]:
        return
    profiles = names[:1] == ["profile"]
    known = set(BY_NAME) if profiles else {*BY_NAME, *SMALL}
    if unknown := [name for name in names[int(profiles) :] if name not in known]:
        parser.error(f"there is no benchmark {', '.join(unknown)} here; `python -m benchmarks list` shows them")
    if profiles and len(names) == 1:
        parser.error("name the scenario to profile")


def list_names() -> None:
    for scenario in SCENARIOS:
        console.print(f"{scenario.name:<24} {scenario.group}: {scenario.title}", highlight=False)
    for name, title in SMALL.items():
        console.print(f"{name:<24} {title} alone", highlight=False)


def finish(run: report.Run, *, publishes: bool) -> int:
    report.print_tables(run, console)
    report.write_json(run)
    if publishes:
        report.publish(run)
    missed = any(not verdict.holds for row in run.rows for verdict in row.verdicts)
    return int(missed or bool(run.failures))


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
            profile_scenario(name, native=chosen.native)
        return 0
    run = run_all(chosen.names or [*BY_NAME, *SMALL], Pace(rounds=chosen.rounds, seconds=chosen.seconds))
    is_full = not (chosen.names or chosen.quick) and all(row.peer for row in run.rows)
    return finish(run, publishes=chosen.publish or is_full)


if __name__ == "__main__":
    sys.exit(main())
