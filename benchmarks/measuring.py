"""One measurement: a load, the CPU time that the server spent on it, and how much else the machine was doing.

CPU time is counted from the first message until the server has come to rest again, so that no one gains by putting work off:
an index built behind the journal and a log written out later are paid for by the messages that caused them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks.generator import Load, generate
from benchmarks.processes import TICKS_PER_S, cpu_s_at_rest, tree_cpu_s


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    load: Load
    server_cpu_us: float  # per message
    foreign_cores: float  # what neither the server nor the client used, in cores


def machine_busy_s() -> float:
    """CPU seconds that the machine has spent on anything."""
    with Path("/proc/stat").open() as file:
        user, nice, system, _idle, _wait, irq, soft_irq, steal, *_ = map(int, file.readline().split()[1:])
    return (user + nice + system + irq + soft_irq + steal) / TICKS_PER_S


def measure(program: Path, options: Mapping[str, object], process_ids: Sequence[int]) -> Measurement:
    """Run the load against the server that consists of these processes and their children."""
    began: list[float] = []
    cpu_s_at_rest(process_ids)

    def at_start() -> None:
        began.extend((tree_cpu_s(process_ids), machine_busy_s(), time.monotonic()))

    load = generate(program, options, at_start)
    server_s = cpu_s_at_rest(process_ids) - began[0]
    elsewhere_s = machine_busy_s() - began[1] - server_s - load.client_cpu_s
    return Measurement(
        load=load,
        server_cpu_us=server_s / max(1, load.posted) * 1e6,
        foreign_cores=max(0.0, elsewhere_s) / (time.monotonic() - began[2]),
    )


Round = Callable[[], Measurement]


def interleaved(
    sides: Mapping[str, Round], rounds: int, on_round: Callable[[str, Measurement], None]
) -> dict[str, list[Measurement]]:
    """Every side in turn, ``rounds`` times, so that what disturbs the machine meanwhile disturbs all of them."""
    results: dict[str, list[Measurement]] = {side: [] for side in sides}
    for _ in range(rounds):
        for side, run in sides.items():
            results[side].append(run())
            on_round(side, results[side][-1])
    return results
