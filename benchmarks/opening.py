"""The time that `postroad serve` needs until it accepts connections while many deliveries wait: the gap of a restart.

    python -m benchmarks.opening [--waiting 0 100000 1000000] [--rounds 3] [--publish]

One network is filled by posts in bulk and stopped; then it is started in each round. Shown are the median and the slowest start,
and the CPU time of all its processes until it accepts connections. The exit code is 1 if the median is 2 s or more with any
number of waiting deliveries. --publish rewrites the section in docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.comparing import work_folder
from benchmarks.machine import description
from benchmarks.measuring import machine_busy_s
from benchmarks.processes import cpu_s_at_rest, tree_cpu_s
from benchmarks.results import MAX_FOREIGN_CORES
from benchmarks.sections import publish
from benchmarks.sizing import BODIES, Site, network, post_all

MAX_S = 2.0


class Start(NamedTuple):
    """One start of a server: until it accepts connections."""

    wall_s: float
    cpu_s: float
    foreign_cores: float  # what other programs used meanwhile


class Starts(NamedTuple):
    """The starts of one network while so many deliveries wait."""

    waiting: int
    rounds: Sequence[Start]

    @property
    def median_s(self) -> float:
        return median(one.wall_s for one in self.rounds)

    @property
    def row(self) -> str:
        slowest = max(one.wall_s for one in self.rounds)
        cpu_s = median(one.cpu_s for one in self.rounds)
        return f"| {self.waiting:,} | {self.median_s:.2f} | {slowest:.2f} | {cpu_s:.2f} |"


def measure(folder: Path, numbers: Sequence[int], rounds: int) -> Iterator[Starts]:
    """Yield the starts with each number of waiting deliveries, rising."""
    _, body = BODIES[0]
    with network(folder) as site:
        posted = 0
        for waiting in sorted(numbers):
            asyncio.run(post_all(site, body, posted, waiting - posted))
            posted = waiting
            cpu_s_at_rest([site.server.pid], give_up_s=600.0)  # until the index has caught up
            yield Starts(waiting, [start_again(site) for _ in range(rounds)])


def start_again(site: Site) -> Start:
    site.server.stop()
    busy_s = machine_busy_s()
    wall_s = site.server.start()
    cpu_s = tree_cpu_s([site.server.pid])
    return Start(wall_s, cpu_s, max(0.0, machine_busy_s() - busy_s - cpu_s) / wall_s)


def table(found: Sequence[Starts], folder: Path) -> str:
    facts = {"Date": f"{datetime.now(UTC):%Y-%m-%d}", **description(folder, with_peer=False)}
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    lines += [f"- Starts: {len(found[0].rounds)} of each", ""]
    lines += [
        "| Waiting deliveries | Start, median s | Slowest, s | CPU s |",
        "|--:|--:|--:|--:|",
        *(one.row for one in found),
    ]
    if missed := [f"{one.waiting:,} waiting: {one.median_s:.2f} s" for one in found if one.median_s >= MAX_S]:
        lines += ["", f"Missed (under {MAX_S:g} s): {'; '.join(missed)}."]
    if (most := max(start.foreign_cores for one in found for start in one.rounds)) > MAX_FOREIGN_CORES:
        lines += [
            "",
            f"**Disturbed.** Other work used up to {most:.1f} cores meanwhile: only the CPU time says something.",
        ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--waiting", type=int, nargs="+", default=[0, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--publish", action="store_true")
    chosen = parser.parse_args()
    with work_folder() as folder:
        found = list(measure(folder / "network", chosen.waiting, chosen.rounds))
        text = table(found, folder)
    print(text)
    if chosen.publish:
        publish("opening", text)
    return int(any(one.median_s >= MAX_S for one in found))


if __name__ == "__main__":
    sys.exit(main())
