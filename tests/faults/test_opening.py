"""A restart with many waiting deliveries costs little more than one without: a small ``python -m benchmarks.opening``."""

from __future__ import annotations

from pathlib import Path

from benchmarks.opening import measure

WAITING = 20_000
MOST_MORE_CPU_S = 0.5  # than an empty network


def test_a_start_with_many_waiting_deliveries_costs_little_more_than_an_empty_one(tmp_path: Path) -> None:
    empty, full = (min(one.cpu_s for one in starts.rounds) for starts in measure(tmp_path / "network", (0, WAITING), 2))
    assert full - empty < MOST_MORE_CPU_S
