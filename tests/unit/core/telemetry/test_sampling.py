"""Sampling: shares, outcomes, durations, and limits per second."""

from __future__ import annotations

import pytest

from postroad.core.telemetry.sampling import EndedJourney, TraceSampler, TraceSampling, is_in_share


def journey(
    number: int, *, failed: bool = False, requested: bool = False, took_s: float = 0.0, at_s: int = 100
) -> EndedJourney:
    end_us = at_s * 1_000_000
    return EndedJourney(number.to_bytes(16, "big"), requested, failed, end_us - int(took_s * 1e6), end_us)


def sampler(share: float = 0.0, slow_s: float = 60.0, per_s: int = 2) -> TraceSampler:
    return TraceSampler(TraceSampling(share, slow_s, per_s))


@pytest.mark.req("O4")
def test_every_node_chooses_the_same_share() -> None:
    ids = [bytes(9) + (number * (1 << 56) // 1_000).to_bytes(7, "big") for number in range(1_000)]
    assert sum(is_in_share(one, 0.25) for one in ids) == 250
    assert not any(is_in_share(one, 0.0) for one in ids)
    assert all(is_in_share(one, 1.0) for one in (*ids, b"\xff" * 16))


@pytest.mark.req("O4")
def test_failed_slow_and_requested_journeys_are_chosen_whatever_the_share() -> None:
    chooses = sampler().chooses
    assert chooses(journey(1, failed=True))
    assert chooses(journey(2, took_s=61.0))
    assert chooses(journey(3, requested=True))
    assert not chooses(journey(4, took_s=59.0))


@pytest.mark.req("O4")
def test_senders_that_sample_everything_do_not_displace_failures() -> None:
    limited = sampler()
    assert [limited.chooses(journey(number, requested=True)) for number in range(4)] == [True, True, False, False]
    assert [limited.chooses(journey(number, failed=True)) for number in range(9, 12)] == [True, True, False]
    assert limited.chooses(journey(1, requested=True)), "another copy of a message that was chosen"
    assert limited.skipped == 3
    assert limited.chooses(journey(5, requested=True, at_s=101)), "in the next second"
