"""Store and forward, decided: when what is held goes, and how long it may wait."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.delivery.release_schedule import DueRelease, HeldDeliveries, kept_until_us, next_release
from postroad.core.model.directory import Release

S_US = 1_000_000
NOW_US = 1_700_000_000 * S_US
MAX_S = 100_000

releases = st.builds(Release, every_s=st.integers(0, MAX_S), when_waiting=st.integers(0, 50), on_request=st.booleans())
since = st.integers(0, 2 * MAX_S).map(lambda age_s: NOW_US - age_s * S_US)
held = st.builds(HeldDeliveries, waiting=st.integers(1, 100), oldest_at_us=since, newest=st.integers(1, 1 << 60))


@pytest.mark.req("X9")
@pytest.mark.parametrize(
    ("release", "waiting", "goes_in_s"),
    [
        (Release(every_s=60), 1, 50),
        (Release(every_s=60), 1_000, 50),
        (Release(every_s=10), 1, 0),
        (Release(every_s=5), 1, 0),
        (Release(when_waiting=3), 2, None),
        (Release(when_waiting=3), 3, 0),
        (Release(when_waiting=3), 4, 0),
        (Release(when_waiting=3, every_s=60), 2, 50),
        (Release(when_waiting=3, every_s=60), 3, 0),
        (Release(on_request=True), 1_000, None),
        (Release(on_request=True, every_s=60), 1, 50),
        (Release(on_request=True, when_waiting=2), 2, 0),
        (Release(every_s=60), 0, None),
        (Release(keep_s=60), 5, None),
    ],
)
def test_whichever_comes_first_wins(release: Release, waiting: int, goes_in_s: int | None) -> None:
    due = next_release(release, HeldDeliveries(waiting, NOW_US - 10 * S_US, 7), NOW_US)
    assert (None if due is None else due.at_us) == (None if goes_in_s is None else NOW_US + goes_in_s * S_US)


def test_a_release_says_why() -> None:
    waiting = HeldDeliveries(3, NOW_US - 60 * S_US, 7)
    assert next_release(Release(every_s=60), waiting, NOW_US) == DueRelease(NOW_US, "the oldest had waited 60 s")
    assert next_release(Release(when_waiting=2), waiting, NOW_US) == DueRelease(NOW_US, "2 were waiting")


@pytest.mark.req("X9")
@given(releases, held)
def test_nobody_waits_longer_than_the_period_and_nothing_is_due_in_the_past(
    release: Release, held: HeldDeliveries
) -> None:
    due = next_release(release, held, NOW_US)
    if due is None:
        assert not release.every_s
        assert not release.when_waiting or held.waiting < release.when_waiting
    else:
        assert due.at_us >= NOW_US
        assert due.at_us == NOW_US or due.at_us == held.oldest_at_us + release.every_s * S_US


@given(releases, held, st.integers(0, 100))
def test_a_further_message_never_puts_a_release_off(release: Release, held: HeldDeliveries, more: int) -> None:
    before = next_release(release, held, NOW_US)
    after = next_release(release, held._replace(waiting=held.waiting + more), NOW_US)
    if before is not None:
        assert after is not None
        assert after.at_us <= before.at_us


@given(releases, held, st.integers(0, 3 * MAX_S))
def test_looking_again_at_the_due_time_finds_it_due_and_looking_before_does_not(
    release: Release, held: HeldDeliveries, later_s: int
) -> None:
    """So a restart between, or another node that looks too, comes to the same."""
    due = next_release(release, held, NOW_US)
    if due is None:
        return
    later_us = NOW_US + later_s * S_US
    again = next_release(release, held, later_us)
    assert again is not None
    assert again.at_us == max(due.at_us, later_us)


def test_a_time_limit_counts_from_when_a_message_came() -> None:
    assert kept_until_us(60, NOW_US) == NOW_US + 60 * S_US


@pytest.mark.parametrize(
    ("release", "holds"),
    [
        (Release(), False),
        (Release(keep_s=5), False),
        (Release(every_s=5), True),
        (Release(when_waiting=5), True),
        (Release(on_request=True), True),
    ],
)
def test_a_time_limit_alone_holds_nothing_back(release: Release, holds: bool) -> None:
    assert release.holds is holds
