"""Days of traffic among services that misbehave, over a process that crashes: the promises hold, for every seed.

``POSTROAD_TEST_SEED`` repeats a random seed; ``POSTROAD_TEST_SIMULATIONS`` asks for more of them.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from postroad.testing.simulation.scenario import SimulationReport, simulate

SIMULATIONS = int(os.environ.get("POSTROAD_TEST_SIMULATIONS", "3"))
SEED = int(os.environ.get("POSTROAD_TEST_SEED", "0")) or int.from_bytes(os.urandom(4), "little")


def half_a_day(seed: int) -> SimulationReport:
    """Small enough for every run of the tests, large enough to have found what is listed below."""
    return simulate(seed, days=0.5, posts=120, services=7)


@pytest.mark.req("M9", "M10", "R15")
@pytest.mark.parametrize(
    "seed",
    [  # each broke something once; whoever changes what a simulation draws looks for others that do
        1,  # a delivery given up left its request waiting until the expiry, and then ended in another way than its journey
        5,  # error responses of the network were not expired in time
        15,  # an error and an acknowledgement that cross were both written down, and both told yes
        18,  # an answer that crossed the end of its journey let a copy go on that had failed
        30,  # a response was withdrawn, and its request's journey ended once more
        2006,  # a delivery that was not in memory when it ended was acknowledged all the same
    ],
)
def test_the_promises_hold_for_seeds_that_broke_them(seed: int) -> None:
    report = half_a_day(seed)
    assert not report.broken, str(report)
    assert report.starts > 2, "nothing crashed, so nothing was tried"
    assert all(report.states[state] for state in ("delivered", "expired", "failed", "cancelled")), str(report)


@pytest.mark.parametrize("place", range(SIMULATIONS))
def test_the_promises_hold_for_seeds_nobody_has_seen(place: int) -> None:
    seed = SEED + place
    print(f"seed {seed}: repeat with POSTROAD_TEST_SEED={seed}")
    report = half_a_day(seed)
    assert not report.broken, str(report)


@pytest.mark.req("D7", "M9", "M10")
@pytest.mark.parametrize("place", range(SIMULATIONS))
def test_the_promises_hold_while_people_resend_and_drop_dead_letters(place: int) -> None:
    """Every round of a copy has one end, and a dead letter begins one round at most; over crashes and lost indexes."""
    seed = SEED + place
    print(f"seed {seed}: repeat with POSTROAD_TEST_SEED={seed}")
    report = simulate(seed, days=0.5, posts=120, services=7, dealings=25)
    assert not report.broken, str(report)


@pytest.mark.req("D7")
def test_dead_letters_of_a_seed_are_resent_dropped_and_fought_over() -> None:
    report = simulate(15, days=0.5, posts=120, services=7, dealings=20)
    assert not report.broken, str(report)
    assert report.events["dead letters resent"] > 50, str(report)
    assert report.events["dead letters dropped"] > 10, str(report)
    assert report.refusals["dead-letter.dealt"] > 5, str(report)


@pytest.mark.req("N11")
@pytest.mark.parametrize("place", range(SIMULATIONS))
def test_the_promises_hold_while_services_are_suspended_and_resumed(place: int) -> None:
    """Nothing passes them, nothing of theirs is lost, and everything ends in time; over crashes and lost indexes."""
    seed = SEED + place
    print(f"seed {seed}: repeat with POSTROAD_TEST_SEED={seed}")
    report = simulate(seed, days=0.5, posts=120, services=7, suspensions=6)
    assert not report.broken, str(report)


@pytest.mark.req("N11")
def test_suspensions_of_a_seed_are_felt() -> None:
    report = simulate(15, days=0.5, posts=200, services=7, suspensions=12)
    assert not report.broken, str(report)
    assert report.events["suspensions"] >= 3, str(report)
    for code in ("service.suspended", "sender.suspended", "recipient.suspended"):
        assert report.refusals[code], str(report)


def test_a_busy_hour_keeps_them_too() -> None:
    report = simulate(11, days=1 / 24, posts=400, services=12, crashes=20)
    assert not report.broken, str(report)


def test_a_seed_gives_the_same_journal_byte_for_byte() -> None:
    """Also in a process that orders its sets of texts otherwise."""
    program = "from postroad.testing.simulation.scenario import simulate; print(simulate(5, days=0.2, posts=60).chain)"
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
