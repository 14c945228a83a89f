"""A source that keeps killing workers is refused for an hour, and only that source."""

from __future__ import annotations

import pytest

from postroad.adapters.confined.pool import KILLS_ALLOWED, PenaltyBox
from postroad.errors import Refused

HOUR_S = 3_600.0


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def box_after(kills: int, clock: Hands, apart_s: float = 1.0) -> PenaltyBox:
    box = PenaltyBox(clock)
    for _ in range(kills):
        box.record("bad")
        clock.now += apart_s
    return box


def test_one_kill_too_few_is_forgiven() -> None:
    box_after(KILLS_ALLOWED - 1, Hands()).check("bad")


def test_the_last_kill_shuts_the_box_for_that_source_alone() -> None:
    box = box_after(KILLS_ALLOWED, Hands())
    box.check("bad, but corrected")
    with pytest.raises(Refused, match="5 times within an hour and is suspended for 60 minutes") as refused:
        box.check("bad")
    assert refused.value.code == "transform.suspended"


def test_the_box_opens_when_the_first_kill_is_an_hour_old_and_shuts_at_the_next() -> None:
    clock = Hands()
    box = box_after(KILLS_ALLOWED, clock, apart_s=60)
    clock.now = 1_000.0 + HOUR_S - 1
    with pytest.raises(Refused, match="for 1 minutes"):
        box.check("bad")
    clock.now = 1_000.0 + HOUR_S
    box.check("bad")
    box.record("bad")
    with pytest.raises(Refused):
        box.check("bad")


def test_kills_that_are_far_apart_never_shut_it() -> None:
    clock = Hands()
    box_after(20, clock, apart_s=HOUR_S / (KILLS_ALLOWED - 1)).check("bad")
