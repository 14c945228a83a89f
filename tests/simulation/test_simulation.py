"""Days of traffic among services that misbehave, over a process that crashes: the promises hold, for every seed.

``POSTROAD_TEST_SEED`` repeats one random seed; ``POSTROAD_TEST_SIMULATIONS`` asks for more of them.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from postroad.testing.simulation.scenario import simulate

SIMULATIONS = int(os.environ.get("POSTROAD_TEST_SIMULATIONS", "6"))
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")


@pytest.mark.parametrize("seed", range(1, 7))
def test_the_promises_hold(seed: int) -> None:
    report = simulate(seed, days=1.0)
    assert not report.broken, report
    assert report.starts > 1, "nothing crashed, so nothing was tried"
    assert min(report.states[state] for state in ("delivered", "expired", "failed")) > 10, report


@pytest.mark.parametrize("place", range(SIMULATIONS))
def test_the_promises_hold_for_seeds_nobody_has_seen(place: int) -> None:
    seed = SEED + place
    print(f"seed {seed}: repeat with POSTROAD_TEST_SEED={seed}")
    report = simulate(seed, days=1.0)
    assert not report.broken, report


def test_a_busy_hour_keeps_them_too() -> None:
    report = simulate(11, days=1 / 24, posts=1500, services=12, crashes=20)
    assert not report.broken, report


def test_a_seed_gives_the_same_journal_byte_for_byte() -> None:
    """Also in a process that orders its sets and dictionaries of texts otherwise."""
    program = "from postroad.testing.simulation.scenario import simulate; print(simulate(5, days=0.3).chain)"
    chains = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert chains[0] == chains[1]
    assert len(chains[0].strip()) == 64


def test_another_seed_gives_another_journal() -> None:
    assert simulate(1, days=0.05, posts=10).chain != simulate(2, days=0.05, posts=10).chain
