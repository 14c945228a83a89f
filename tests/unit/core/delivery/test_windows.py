"""Delivery windows by example: what an owner expects of them, and what happens on the days on which clocks are set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from postroad.core.delivery.windows import MAX_SPREAD_S, next_opening, spread_s
from postroad.core.model.directory import DeliveryWindow

OFFICE = (DeliveryWindow(days=("mon", "tue", "wed", "thu", "fri"), opens="08:00", closes="17:00"),)
NIGHT = (DeliveryWindow(days=("fri",), opens="22:00", closes="06:00"),)
ALWAYS = (DeliveryWindow(),)


def us(text: str) -> int:
    """A moment from its text in UTC."""
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        microseconds=1
    )


@pytest.mark.req("D4")
@pytest.mark.parametrize(
    ("windows", "zone", "now", "opening"),
    [
        pytest.param((), "UTC", "2026-11-14 03:00", "2026-11-14 03:00", id="no windows: always"),
        pytest.param(OFFICE, "Europe/Berlin", "2026-11-13 12:00", "2026-11-13 12:00", id="open"),
        pytest.param(OFFICE, "Europe/Berlin", "2026-11-13 16:00", "2026-11-16 07:00", id="closed for the weekend"),
        pytest.param(OFFICE, "Europe/Berlin", "2026-07-10 15:00", "2026-07-13 06:00", id="an hour earlier in summer"),
        pytest.param(NIGHT, "UTC", "2026-11-14 05:59", "2026-11-14 05:59", id="Friday's night lasts to Saturday"),
        pytest.param(NIGHT, "UTC", "2026-11-13 05:00", "2026-11-13 22:00", id="Thursday's night is none of its own"),
        pytest.param(NIGHT, "UTC", "2026-11-14 06:00", "2026-11-20 22:00", id="closed from the minute it closes"),
        pytest.param(ALWAYS, "Asia/Tokyo", "2026-11-14 15:00", "2026-11-14 15:00", id="open through midnight"),
    ],
)
def test_pushes_wait_for_the_window(windows: tuple[DeliveryWindow, ...], zone: str, now: str, opening: str) -> None:
    assert next_opening(windows, zone, us(now)) == us(opening)


SKIPPED = "2026-03-29 00:00"  # in Berlin the clock goes from 02:00 to 03:00 at 01:00 UTC
TWICE = "2026-10-24 23:00"  # in Berlin it goes back from 03:00 to 02:00 at 01:00 UTC, an hour and more after this


@pytest.mark.req("D4")
@pytest.mark.parametrize(
    ("opens", "closes", "now", "opening"),
    [
        pytest.param("02:30", "04:00", SKIPPED, "2026-03-29 01:00", id="opens in the skipped hour: right after it"),
        pytest.param("01:00", "02:30", "2026-03-29 01:00", "2026-03-29 23:00", id="closes in the skipped hour: there"),
        pytest.param("02:10", "02:50", SKIPPED, "2026-03-30 00:10", id="only the skipped hour: next day"),
        pytest.param(
            "02:30", "04:00", TWICE, "2026-10-25 00:30", id="opens in the hour that occurs twice: the first time"
        ),
        pytest.param("02:10", "02:20", "2026-10-25 00:40", "2026-10-25 00:40", id="open in both: open right through"),
        pytest.param("02:10", "02:20", "2026-10-25 01:20", "2026-10-26 01:10", id="and closed after the second time"),
        pytest.param("01:00", "02:00", "2026-10-25 00:00", "2026-10-26 00:00", id="closes as the double hour begins"),
    ],
)
def test_clocks_that_are_set(opens: str, closes: str, now: str, opening: str) -> None:
    assert next_opening((DeliveryWindow(opens=opens, closes=closes),), "Europe/Berlin", us(now)) == us(opening)


def test_a_day_that_was_left_out_has_no_windows() -> None:
    friday = (DeliveryWindow(days=("fri",), opens="08:00", closes="17:00"),)
    thursday_evening_in_samoa = us("2011-12-30 06:00")
    assert next_opening(friday, "Pacific/Apia", thursday_evening_in_samoa) == us("2012-01-05 18:00")


def test_a_clock_set_back_over_midnight_finds_the_window_of_two_days_ago_still_open() -> None:
    almost_a_day = (DeliveryWindow(days=("fri",), opens="23:59", closes="23:58"),)
    sunday_before_the_clock_goes_back_to_saturday = us("2010-11-07 02:30:30")  # 00:00:30 in St. John's; set at 00:01
    moment = sunday_before_the_clock_goes_back_to_saturday
    assert next_opening(almost_a_day, "America/St_Johns", moment) == moment


@pytest.mark.parametrize(
    "window", [DeliveryWindow(days=()), DeliveryWindow(opens="08:00", closes="08:00"), DeliveryWindow(opens="24:00")]
)
def test_windows_that_never_open_are_told(window: DeliveryWindow) -> None:
    with pytest.raises(ValueError, match="never open"):
        next_opening((window,), "UTC", us("2026-11-14 03:00"))


def test_the_storm_at_opening_is_spread_over_a_minute() -> None:
    closed = us("2026-11-16 03:00")
    waits = [spread_s(OFFICE, "UTC", closed, "a" * 16, number) for number in range(2_000)]
    tenths = [sum(1 for wait in waits if part <= wait / MAX_SPREAD_S * 10 < part + 1) for part in range(10)]
    assert min(tenths) > 120
    assert max(tenths) < 280
    assert sum(tenths) == 2_000


def test_a_short_window_keeps_most_of_itself() -> None:
    short = (DeliveryWindow(opens="08:00", closes="08:01"),)
    assert max(spread_s(short, "UTC", us("2026-11-16 03:00"), "a" * 16, number) for number in range(100)) < 6.0


def test_windows_that_touch_are_one() -> None:
    touching = (DeliveryWindow(opens="08:00", closes="08:01"), DeliveryWindow(opens="08:01", closes="17:00"))
    assert max(spread_s(touching, "UTC", us("2026-11-16 03:00"), "a" * 16, number) for number in range(100)) > 50.0
    assert {spread_s(touching, "UTC", us("2026-11-16 08:01"), "a" * 16, number) for number in range(50)} == {0.0}


def test_nothing_waits_when_nothing_opened() -> None:
    assert spread_s((), "UTC", us("2026-11-16 03:00"), "a" * 16, 1) == 0.0
    midnight = us("2026-11-16 00:00")
    assert {spread_s(ALWAYS, "UTC", midnight, "a" * 16, number) for number in range(50)} == {0.0}
    assert {spread_s(OFFICE, "UTC", us("2026-11-16 08:01"), "a" * 16, number) for number in range(50)} == {0.0}


def test_services_are_spread_too() -> None:
    closed = us("2026-11-16 03:00")
    assert len({spread_s(OFFICE, "UTC", closed, f"{number:016x}", 0) for number in range(100)}) == 100
