"""Delivery windows against a clock that is read again and again: five years in twenty zones, and minute by minute where
clocks are set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from postroad.core.configuration.profile.service import WindowProfile
from postroad.core.delivery.windows import DAYS_AHEAD, WEEKDAYS, next_opening, spread_s
from postroad.core.model.directory import DeliveryWindow
from tests.property.wall_clock import EPOCH, WallClock

BEGINS, ENDS = datetime(2024, 1, 1, tzinfo=UTC), datetime(2029, 1, 1, tzinfo=UTC)
ZONES = [
    "UTC", "Europe/Berlin", "Europe/Dublin", "America/New_York", "America/St_Johns", "America/Santiago",
    "America/Asuncion", "America/Havana", "America/Nuuk", "Atlantic/Azores", "Africa/Casablanca",
    "Africa/Cairo", "Asia/Beirut", "Asia/Tehran", "Asia/Kathmandu", "Australia/Lord_Howe",
    "Australia/Sydney", "Pacific/Chatham", "Pacific/Apia", "Antarctica/Troll",
]  # fmt: skip
WEEK = tuple(WEEKDAYS)
# Around the hours at which clocks are set (midnight, 1, 2 and 3 o'clock), across midnight, and twice a day on some weekdays.
SETS = [
    (DeliveryWindow(opens="02:15", closes="02:45"), DeliveryWindow(opens="12:00", closes="13:30")),
    (DeliveryWindow(opens="22:30", closes="02:30"),),
    (
        DeliveryWindow(days=("sun",), opens="00:15", closes="03:00"),
        DeliveryWindow(days=("mon", "thu"), opens="23:45", closes="00:30"),
        DeliveryWindow(days=("sat", "sun"), opens="23:00", closes="24:00"),
        DeliveryWindow(days=("wed",), opens="08:00", closes="12:00"),
        DeliveryWindow(days=("wed",), opens="11:00", closes="17:15"),
    ),
]
HOUR_US = 3_600_000_000


@pytest.fixture(scope="module", params=ZONES)
def clock(request: pytest.FixtureRequest) -> tuple[str, WallClock]:
    return request.param, WallClock(request.param, BEGINS, ENDS, 15)


@pytest.mark.req("D4")
@pytest.mark.parametrize("windows", SETS, ids=["twice-a-day", "across-midnight", "by-weekday"])
def test_windows_open_and_close_as_the_wall_clock_says(
    clock: tuple[str, WallClock], windows: tuple[DeliveryWindow, ...]
) -> None:
    """Every opening and every closing of five years; each is asked for at the closing before, and one microsecond around."""
    zone, readings = clock
    is_open = readings.open_readings(windows)
    changes = [place for place in range(200, len(is_open)) if is_open[place] != is_open[place - 1]]
    assert len(changes) > 500
    for here, after in pairwise(changes):
        moment, change = readings.us(here), readings.us(after)
        if is_open[here]:
            assert next_opening(windows, zone, moment) == moment
            assert next_opening(windows, zone, change - 1) == change - 1
        else:
            assert next_opening(windows, zone, moment) == change
            assert next_opening(windows, zone, change - 1) == change


def clock_changes() -> list[tuple[str, datetime]]:
    """Every hour in which some clock of ours was set, and the days that Samoa left out and Lord Howe's half hours."""
    found = []
    for zone in ZONES:
        hours = [BEGINS + timedelta(hours=number) for number in range(0, 5 * 8_760, 6)]
        offsets = [hour.astimezone(ZoneInfo(zone)).utcoffset() for hour in hours]
        found += [(zone, hours[at]) for at in range(1, len(hours)) if offsets[at] != offsets[at - 1]]
    return [*found, ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC))]


CHANGES = clock_changes()
TIMES = st.integers(0, 1_439).map(lambda minute: f"{minute // 60:02}:{minute % 60:02}")
WINDOWS = st.lists(
    st.builds(
        DeliveryWindow,
        days=st.lists(st.sampled_from(WEEK), min_size=1, unique=True).map(tuple),
        opens=TIMES,
        closes=TIMES | st.just("24:00"),
    ).filter(lambda window: window.opens != window.closes),
    min_size=1,
    max_size=4,
).map(tuple)


@pytest.mark.req("D4")
@settings(max_examples=120, deadline=None)
@given(st.sampled_from(CHANGES), WINDOWS, st.integers(-36 * 60, 36 * 60))
def test_windows_hold_to_the_minute_where_clocks_are_set(
    change: tuple[str, datetime], windows: tuple[DeliveryWindow, ...], minutes_off: int
) -> None:
    zone, at = change
    readings = WallClock(zone, at - timedelta(days=4), at + timedelta(days=4), 1)
    is_open = readings.open_readings(windows)
    now, reach = 4 * 1_440 + minutes_off, 6 * 1_440  # close to the end of the readings, they do not know what comes
    expected = is_open.find(b"\1", now, reach)
    found = next_opening(windows, zone, readings.us(now))
    assert found == readings.us(expected) if expected >= 0 else found >= readings.us(reach)


MOMENTS = st.integers(int(BEGINS.timestamp()) * 1_000_000, int(ENDS.timestamp()) * 1_000_000)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(ZONES), WINDOWS, MOMENTS)
def test_an_opening_is_the_first_open_moment_and_soon_enough(
    zone: str, windows: tuple[DeliveryWindow, ...], now_us: int
) -> None:
    found = next_opening(windows, zone, now_us)
    assert now_us <= found < now_us + 15 * 24 * HOUR_US
    assert next_opening(windows, zone, found) == found
    if found > now_us:
        assert next_opening(windows, zone, found - 1) == found
    assert next_opening(windows[::-1], zone, now_us) == found


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(ZONES), WINDOWS, MOMENTS, st.integers(0, 1 << 40))
def test_a_delivery_keeps_its_place_in_the_first_minute_and_in_the_window(
    zone: str, windows: tuple[DeliveryWindow, ...], now_us: int, delivery: int
) -> None:
    opening = next_opening(windows, zone, now_us)
    waits = spread_s(windows, zone, now_us, "a" * 16, delivery)
    assert 0.0 <= waits < 60.0
    pushed_at = opening + int(waits * 1_000_000)
    assert next_opening(windows, zone, pushed_at) == pushed_at
    assert spread_s(windows, zone, pushed_at + 1, "a" * 16, delivery) == 0.0


@settings(max_examples=100, deadline=None)
@given(
    st.builds(dict, days=st.lists(st.sampled_from(WEEK), max_size=7), opens=TIMES, closes=TIMES), st.sampled_from(ZONES)
)
def test_what_is_saved_opens_and_what_never_opens_is_refused(written: dict[str, object], zone: str) -> None:
    try:
        profile = WindowProfile.model_validate(written)
    except ValidationError:
        days = written["days"]
        assert isinstance(days, list)
        assert not days or len(set(days)) < len(days) or written["opens"] == written["closes"]
    else:
        window = DeliveryWindow(days=profile.days, opens=profile.opens, closes=profile.closes)
        now_us = int((BEGINS - EPOCH).total_seconds()) * 1_000_000
        assert next_opening((window,), zone, now_us) < now_us + DAYS_AHEAD * 24 * HOUR_US
