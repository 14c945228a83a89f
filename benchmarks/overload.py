"""Whether a network under overload does useful work: 0.5, 1, 2 and 4 times its capacity, offered without waiting for answers.

    python -m benchmarks.overload [--seconds 5] [--levels 0.5 1 2 4] [--publish]

The capacity is what 64 clients get that each wait for their answers. Then one organization offers multiples of it, in open
loop and pipelined, while a neighbour posts a tenth of the capacity, polls and acknowledges. A time to an answer counts from
when the post was due. The exit code is 1 when a criterion is missed:

- accepted posts per second at the highest level: at least 90 % of those at 1 ×
- p99 of accepted posts: under 1 s; p99 of acknowledgments: under 200 ms
- every refusal has a code and Retry-After
- the neighbour loses nothing: no post, poll or acknowledgment of it is refused, and every message arrives
- the server's memory at the highest level: at most a quarter and 32 MiB more than at 1 ×
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks import generator
from benchmarks.comparing import work_folder
from benchmarks.machine import description
from benchmarks.measuring import machine_busy_s
from benchmarks.overload_network import NEIGHBOUR_SHARE, Cores, Level, OpenLoad, OverloadNetwork
from benchmarks.processes import tree_cpu_s
from benchmarks.results import MAX_FOREIGN_CORES
from benchmarks.sections import publish

LEVELS = (0.5, 1.0, 2.0, 4.0)
LEAST_ACCEPTED = 0.9
MAX_POST_S, MAX_ACK_S = 1.0, 0.2
MAX_MEMORY, MAX_MEMORY_MIB = 1.25, 32.0
HEADINGS = (
    "offered", "posts/s", "accepted/s", "refused/s", "unsent", "accepted p50 ms", "p99 ms", "refused p99 ms", "ack p99 ms",
    "neighbour accepted", "lost", "memory MiB", "server cores", "generator cores",
)  # fmt: skip


def measure(folder: Path, levels: Sequence[float], seconds: float) -> tuple[float, list[Level]]:
    """Return the capacity, and what happened at each level on a fresh server."""
    network = OverloadNetwork(folder / "capacity")
    with network.server:
        capacity = network.measure_capacity(seconds)
    print(f"capacity: {capacity:,.0f} posts/s", flush=True)
    measured = []
    for times in levels:
        measured.append(measure_level(folder / f"level-{times:g}", times, capacity, seconds))
        print(row(measured[-1]), flush=True)
    return capacity, measured


def measure_level(folder: Path, times: float, capacity: float, seconds: float) -> Level:
    network = OverloadNetwork(folder)
    with network.server:
        network.measure_capacity(1.0)  # until everything has been used once
        before = UsedTime.now(network.server.process_ids)
        flood, neighbour, memory_mib = network.offer(times * capacity, NEIGHBOUR_SHARE * capacity, seconds)
        cores = UsedTime.now(network.server.process_ids).cores_since(before, flood, neighbour)
    return Level(
        times=times,
        offered_per_s=times * capacity,
        flood=flood,
        neighbour=neighbour,
        memory_mib=memory_mib,
        cores=cores,
    )


class UsedTime(NamedTuple):
    """Processor time used so far, by the whole machine and by the server."""

    at_s: float
    machine_s: float
    server_s: float

    @classmethod
    def now(cls, process_ids: Sequence[int]) -> UsedTime:
        return cls(time.monotonic(), machine_busy_s(), tree_cpu_s(process_ids))

    def cores_since(self, before: UsedTime, *loads: OpenLoad) -> Cores:
        elapsed_s = self.at_s - before.at_s
        server = (self.server_s - before.server_s) / elapsed_s
        generator = sum(load.client_cpu_s for load in loads) / elapsed_s
        foreign = (self.machine_s - before.machine_s) / elapsed_s - server - generator
        return Cores(server=server, generator=generator, foreign=max(0.0, foreign))


def accepted_per_s(level: Level) -> float:
    return level.flood.accepted_per_s + level.neighbour.accepted_per_s


def lost(level: Level) -> int:
    """Return how much of the neighbour's was refused, not sent, or did not arrive."""
    one = level.neighbour
    return one.refused + one.unsent + one.polls_refused + one.acks_refused + abs(one.accepted - one.received)


def find_missed(levels: Sequence[Level]) -> Iterator[str]:
    """Yield every criterion that was missed, in words."""
    for level in levels:
        if level.flood.accepted_p99_us > MAX_POST_S * 1e6:
            yield f"{level.times:g} ×: p99 of accepted posts is {level.flood.accepted_p99_us / 1e3:.0f} ms"
        if level.neighbour.ack_p99_us > MAX_ACK_S * 1e6:
            yield f"{level.times:g} ×: p99 of acknowledgments is {level.neighbour.ack_p99_us / 1e3:.0f} ms"
        if level.flood.without_retry_after or "" in level.flood.codes:
            yield f"{level.times:g} ×: refusals without Retry-After or code: {level.flood.without_retry_after}"
        if lost(level):
            yield f"{level.times:g} ×: the neighbour lost {lost(level)}"
    usual, highest = next((one for one in levels if one.times == 1), levels[0]), levels[-1]
    if accepted_per_s(highest) < LEAST_ACCEPTED * accepted_per_s(usual):
        share = accepted_per_s(highest) / accepted_per_s(usual)
        yield f"accepted at {highest.times:g} × are {share:.0%} of those at {usual.times:g} ×"
    if highest.memory_mib > MAX_MEMORY * usual.memory_mib + MAX_MEMORY_MIB:
        yield f"memory at {highest.times:g} × is {highest.memory_mib:.0f} MiB, at {usual.times:g} × {usual.memory_mib:.0f}"


def row(level: Level) -> str:
    flood, neighbour = level.flood, level.neighbour
    cells = (
        f"{level.times:g} ×", f"{level.offered_per_s:,.0f}", f"{flood.accepted_per_s:,.0f}", f"{flood.refused_per_s:,.0f}",
        f"{flood.unsent:,}", f"{flood.accepted_p50_us / 1e3:.0f}", f"{flood.accepted_p99_us / 1e3:.0f}",
        f"{flood.refused_p99_us / 1e3:.0f}", f"{neighbour.ack_p99_us / 1e3:.1f}", f"{neighbour.accepted:,}", f"{lost(level):,}",
        f"{level.memory_mib:.0f}", f"{level.cores.server:.2f}", f"{level.cores.generator:.2f}",
    )  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def table(capacity: float, levels: Sequence[Level], folder: Path) -> str:
    facts = {"Date": f"{datetime.now(UTC):%Y-%m-%d}", **description(folder, with_peer=False)}
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    lines += [f"- Capacity: {capacity:,.0f} posts per second", "", "| " + " | ".join(HEADINGS) + " |"]
    lines += ["|" + "--:|" * len(HEADINGS), *map(row, levels)]
    codes = sorted({code for level in levels for code in level.flood.codes})
    if (most := max(level.cores.foreign for level in levels)) > MAX_FOREIGN_CORES:
        lines += ["", f"**Disturbed.** Other work used up to {most:.1f} cores meanwhile: these figures say little."]
    lines += ["", "Codes of the refusals: " + (", ".join(f"`{code}`" for code in codes) or "none") + "."]
    if missed := list(find_missed(levels)):
        lines += ["", "Missed: " + "; ".join(missed) + "."]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.overload", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=5.0, help="measured time of a level")
    parser.add_argument("--levels", type=float, nargs="+", default=LEVELS, help="multiples of the capacity, rising")
    parser.add_argument("--publish", action="store_true", help="rewrite the table in docs/explanation/performance.md")
    given = parser.parse_args(arguments)
    if reason := generator.missing():
        print(reason, file=sys.stderr)
        return 2
    with work_folder() as folder:
        capacity, levels = measure(folder, given.levels, given.seconds)
        text = table(capacity, levels, folder)
    print(f"\n{text}")
    if given.publish:
        publish("overload", text)
    return int(any(find_missed(levels)))


if __name__ == "__main__":
    sys.exit(main())
