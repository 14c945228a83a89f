"""Schedules and the ends of delivery windows against a wall clock that is read every quarter of an hour, for years."""

from __future__ import annotations

from bisect import bisect_left
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.core.batching.cron import Cron, next_time, read_cron
from postroad.core.delivery.windows import next_closing
from postroad.core.model.directory import DeliveryWindow
from postroad.errors import Refused
from tests.property.wall_clock import DAY_MINUTES, WallClock

BEGINS, ENDS = datetime(2024, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
ZONES = [
    "Europe/Berlin", "America/New_York", "America/Santiago", "America/Asuncion", "America/Havana",
    "America/Nuuk", "Africa/Casablanca", "Asia/Beirut", "Australia/Lord_Howe", "Pacific/Chatham",
]  # fmt: skip
SCHEDULES = ["30 2 * * *", "0,15 0,1,3,23 * * 0,6", "0 18 L * *", "45 * * * 0", "15 0 1-7 3,4,9-11 *"]
QUARTER = 15
EPOCH_DAY = date(1970, 1, 1)


@pytest.fixture(scope="module", params=ZONES)
def clock(request: pytest.FixtureRequest) -> tuple[str, WallClock]:
    return request.param, WallClock(request.param, BEGINS, ENDS, QUARTER)


def expected_times(cron: Cron, clock: WallClock) -> list[int]:
    """Every hour: whenever the clock shows it. Else: when the clock first shows so much, once for each day and time."""
    if cron.every_hour:
        return [clock.us(place) for place, wall in enumerate(clock.shown) if shows(cron, wall)]
    highest = list(accumulate(clock.shown, max))
    first_day, last_day = clock.shown[0] // DAY_MINUTES + 1, clock.shown[-1] // DAY_MINUTES
    days = [day for day in range(first_day, last_day) if cron.has(EPOCH_DAY + timedelta(days=day))]
    walls = [day * DAY_MINUTES + hour * 60 + minute for day in days for hour in cron.hours for minute in cron.minutes]
    return sorted({clock.us(bisect_left(highest, wall)) for wall in walls})


def shows(cron: Cron, wall: int) -> bool:
    return wall % 60 in cron.minutes and cron.has(EPOCH_DAY + timedelta(days=wall // DAY_MINUTES))


@pytest.mark.req("B1")
@pytest.mark.parametrize("text", SCHEDULES)
def test_a_schedule_goes_off_as_the_wall_clock_says(clock: tuple[str, WallClock], text: str) -> None:
    zone, readings = clock
    cron = read_cron(text)
    # The first and last days are left to the clock's edges.
    expected = expected_times(cron, readings)[3:-3]
    assert len(expected) > 20
    for before, after in pairwise(expected):
        assert next_time(cron, zone, before) == after
        assert next_time(cron, zone, after - 1) == after


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    "windows",
    [
        (DeliveryWindow(opens="02:15", closes="02:45"), DeliveryWindow(opens="12:00", closes="13:30")),
        (DeliveryWindow(opens="22:30", closes="02:30"), DeliveryWindow(days=("sun",), opens="02:30", closes="05:00")),
    ],
    ids=["twice-a-day", "touching"],
)
def test_a_window_closes_when_nothing_may_be_pushed_any_more(
    clock: tuple[str, WallClock], windows: tuple[DeliveryWindow, ...]
) -> None:
    zone, readings = clock
    is_open = readings.open_readings(windows)
    closings = [
        readings.us(place) for place in range(200, len(is_open) - 200) if is_open[place - 1] and not is_open[place]
    ]
    assert len(closings) > 900
    for before, after in pairwise(closings[::3]):
        assert next_closing(windows, zone, after - 1) == after
        assert before < (next_closing(windows, zone, before) or 0) <= after


def test_windows_that_are_always_or_never_open_have_no_closing_time() -> None:
    assert next_closing((), "UTC", 0) is None
    assert next_closing((DeliveryWindow(),), "Europe/Berlin", 1_767_225_600_000_000) is None


@given(text=st.text(alphabet="0123456789*/-, lLmonjaferi@", max_size=30))
def test_any_text_is_a_schedule_that_goes_off_or_is_refused(text: str) -> None:
    try:
        cron = read_cron(text)
    except Refused:
        return
    assert next_time(cron, "Europe/Berlin", 1_767_225_600_000_000) > 1_767_225_600_000_000
