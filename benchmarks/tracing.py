"""What traces cost the server, and what the process that exports them uses.

    python -m benchmarks.tracing [--rounds 5] [--seconds 4] [--before CHECKOUT] [--publish]

Servers in turns under the same load, post → poll → acknowledge in SOAP with 64 clients:

    before  the program of another checkout, for example of the commit before metrics and traces; with --before
    off     ``traces_to`` is empty
    header  ``traces_to`` is empty, and each post has another ``traceparent``
    share   one trace of a hundred, the usual share, is exported to a collector that swallows it
    all     every trace is exported to a collector that swallows it
    away    the collector does not exist

Then one message goes to 10,000 recipients. The exit code is 1 when a limit is exceeded: in CPU time of the server, ``off``
within 1 % of ``before``, ``header`` within 0.5 µs of ``off``, and ``all`` within 2 % of ``off``; for the exporting process, 15 µs
a message and 2 µs with the usual share; its memory under 256 MB while the collector is away, and 1,000 deliveries in the trace
of the large message. --publish rewrites the section in docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.comparing import WARMUP_MS, work_folder
from benchmarks.machine import description
from benchmarks.measuring import measure
from benchmarks.network import PROGRAM, NetworkServer
from benchmarks.payload import HANDLE, RECEIVER, post_request
from benchmarks.processes import all_processes, cpu_s_at_rest, free_port, tree_of
from benchmarks.results import MAX_FOREIGN_CORES
from benchmarks.scenarios import SCENARIOS, Scenario
from benchmarks.sections import publish
from benchmarks.sides import Duration, OurSide
from postroad.client import Access, Client
from postroad.testing.otlp_receiver import OtlpReceiver, otlp_receiver
from tests.waiting import eventually

OFF_SHARE, ALL_SHARE = 1.01, 1.02
HEADER_US, FOLLOWER_US, SHARE_US, AWAY_MB = 0.5, 15.0, 2.0, 256.0
RECIPIENTS, CHILDREN = 10_000, 1_000
TRACEPARENT = f"traceparent: 00-4bf92f3577b3{HANDLE}-00f067aa0ba902b7-00"
TRACING = b"postroad.adapters.tracing"


class TracedRound(NamedTuple):
    """One round: CPU time per message of the server and of the exporting process, and that process's memory."""

    messages_per_s: float
    server_us: float
    follower_us: float
    follower_mb: float
    foreign_cores: float  # what neither server nor load used


Results = dict[str, list[TracedRound]]


class TracedSide(OurSide):
    """A server under the load; ``headers`` are those of each post."""

    def __init__(self, network: NetworkServer, scenario: Scenario, folder: Path, *headers: str) -> None:
        super().__init__(network, scenario, folder)
        self._files["post"].write_bytes(post_request(scenario.form, network.sender_key, *headers))

    def traced_round(self, duration: Duration) -> TracedRound:
        before_s = follower_cpu_s(self._network.process_ids)
        measured = measure(self._program, self.load_options(duration), self._network.process_ids)
        count = max(1, measured.load.posted)
        self.drain()
        follower_us = (follower_cpu_s(self._network.process_ids) - before_s) / count * 1e6
        mb = follower_mb(self._network.process_ids)
        cpu_s_at_rest(self._network.process_ids)
        return TracedRound(
            messages_per_s=measured.load.received_per_s,
            server_us=measured.server_cpu_us - follower_us,
            follower_us=follower_us,
            follower_mb=mb,
            foreign_cores=measured.foreign_cores,
        )


def followers(roots: Sequence[int]) -> Iterator[int]:
    """Yield the exporting processes of a server."""
    for pid in tree_of(roots, all_processes()):
        if TRACING in Path(f"/proc/{pid}/cmdline").read_bytes():
            yield pid


def follower_cpu_s(roots: Sequence[int]) -> float:
    times = all_processes()
    return sum(times[pid].cpu_s for pid in followers(roots))


def follower_mb(roots: Sequence[int]) -> float:
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in followers(roots)]
    return sum(pages) * 4_096 / 1e6


@contextmanager
def swallowing_collector() -> Iterator[str]:
    """A collector in a process of its own; yields its address."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.tracing", "--collector", str(port)])
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def collect(port: int) -> None:
    with otlp_receiver(port, keep=False):
        threading.Event().wait()


def settings(to: str, share: str = "1") -> dict[str, str]:
    return {"TRACES_TO": to, "TRACES_SHARE": share, "TRACES_PER_S": "1000000", "TRACES_PATIENCE_S": "5"} if to else {}


def measure_sides(rounds: int, duration: Duration, before: Path | None) -> Results:
    scenario = replace(next(one for one in SCENARIOS if one.name == "soap-64"), consumes=True)
    results: Results = {}
    with ExitStack() as stack:
        folder = stack.enter_context(work_folder())
        collector = stack.enter_context(swallowing_collector())
        to = {"off": "", "header": "", "share": collector, "all": collector, "away": f"http://127.0.0.1:{free_port()}"}
        programs = {"before": before / ".venv" / "bin" / "postroad"} if before is not None else {}
        sides: dict[str, TracedSide] = {}
        for name in [*programs, *to]:
            network = NetworkServer(
                folder / name,
                settings=settings(to.get(name, ""), "0.01" if name == "share" else "1"),
                program=programs.get(name, PROGRAM),
            )
            stack.enter_context(network)
            sides[name] = TracedSide(network, scenario, folder / name, *([TRACEPARENT] if name == "header" else []))
        for _ in range(rounds):
            for name, side in sides.items():
                results.setdefault(name, []).append(side.traced_round(duration))
    return results


def measure_fan_out() -> int:
    """Return how many deliveries the trace of a message to 10,000 recipients has."""
    with (
        work_folder() as folder,
        otlp_receiver() as collector,
        NetworkServer(folder / "network", settings=settings(collector.url) | {"BULK_BYTES": str(64 << 20)}) as network,
    ):
        url = f"http://127.0.0.1:{network.port}"
        with Client(access=Access.with_key(url, network.sender_key)) as sender:
            sender.post(to=[RECEIVER] * RECIPIENTS, document="x")
        with Client(access=Access.with_key(url, network.receiver_key)) as receiver:
            received = 0
            while received < RECIPIENTS:
                messages = receiver.poll(100, wait_s=10)
                receiver.acknowledge(*messages)
                received += len(messages)
        eventually(lambda: count_deliveries(collector) >= CHILDREN)
        return count_deliveries(collector)


def count_deliveries(collector: OtlpReceiver) -> int:
    return sum(span.name.startswith("deliver") for span in collector.spans)


class Limit(NamedTuple):
    """What was measured, what it reached, and what it may reach at most."""

    what: str
    reached: float
    most: float

    @property
    def holds(self) -> bool:
        return self.reached <= self.most

    @property
    def row(self) -> str:
        return f"| {self.what} | {self.reached:,.3f} | ≤ {self.most:g} | {'✓' if self.holds else '✗'} |"


def limits(results: Results, deliveries: int) -> list[Limit]:
    middle = medians(results)
    off = middle["off"].server_us
    found = [
        Limit(
            "server with a `traceparent` in each post: more than *off*, µs", middle["header"].server_us - off, HEADER_US
        ),
        Limit("server with all traces exported, of *off*", middle["all"].server_us / off, ALL_SHARE),
        Limit("exporting process, all traces, µs", middle["all"].follower_us, FOLLOWER_US),
        Limit("exporting process, usual share, µs", middle["share"].follower_us, SHARE_US),
        Limit(
            "exporting process without a collector, most MB", max(one.follower_mb for one in results["away"]), AWAY_MB
        ),
        Limit(f"deliveries in the trace of a message to {RECIPIENTS:,}", deliveries, CHILDREN),
    ]
    if "before" in middle:
        found.insert(0, Limit("server without traces, of *before*", off / middle["before"].server_us, OFF_SHARE))
    return found


def medians(results: Results) -> dict[str, TracedRound]:
    return {name: TracedRound(*map(median, zip(*rounds, strict=True))) for name, rounds in results.items()}


def table(results: Results, deliveries: int, command: str, folder: Path) -> str:
    facts = {"Command": f"`{command}`", "Date": f"{datetime.now(UTC):%Y-%m-%d}", **description(folder, with_peer=False)}
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    lines += [
        "",
        "| side | messages/s | server, CPU µs | exporting process, CPU µs | its memory, MB |",
        "|---|--:|--:|--:|--:|",
    ]
    for name, row in medians(results).items():
        cells = f"{row.messages_per_s:,.0f} | {row.server_us:.2f} | {row.follower_us:.2f} | {row.follower_mb:.1f}"
        lines.append(f"| {name} | {cells} |")
    lines += ["", "| | reached | limit | |", "|---|--:|--:|---|", *(one.row for one in limits(results, deliveries))]
    if (most := max(one.foreign_cores for rounds in results.values() for one in rounds)) > MAX_FOREIGN_CORES:
        lines += ["", f"**Disturbed.** Other work used up to {most:.1f} cores meanwhile: these figures say little."]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.tracing", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    parser.add_argument("--publish", action="store_true", help="rewrite the section in docs/explanation/performance.md")
    parser.add_argument("--collector", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.collector is not None:
        collect(chosen.collector)
    duration = Duration(warmup_ms=WARMUP_MS, measure_ms=int(chosen.seconds * 1_000))
    results, deliveries = measure_sides(chosen.rounds, duration, chosen.before), measure_fan_out()
    command = f"python -m benchmarks.tracing --rounds {chosen.rounds} --seconds {chosen.seconds:g}"
    with work_folder() as folder:
        text = table(results, deliveries, command + (" --before CHECKOUT" if chosen.before else ""), folder)
    print(text)
    if chosen.publish:
        publish("tracing", text)
    return 0 if all(one.holds for one in limits(results, deliveries)) else 1


if __name__ == "__main__":
    sys.exit(main())
