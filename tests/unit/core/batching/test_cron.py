"""Schedules: what can be written, what is refused, and what daylight saving does to them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from postroad.core.batching.cron import next_time, read_cron
from postroad.core.codecs.lexical import write_time
from postroad.errors import Refused

BERLIN = "Europe/Berlin"


def us(text: str, zone: str = "UTC") -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 1_000_000


def following(cron: str, after: str, times: int = 1, zone: str = "UTC") -> list[str]:
    moment, found = us(after), []
    for _ in range(times):
        moment = next_time(read_cron(cron), zone, moment)
        found.append(write_time(moment)[:16])
    return found


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 18 * * *", ["2026-01-01T18:00", "2026-01-02T18:00"]),
        ("0 18 * * 1-5", ["2026-01-01T18:00", "2026-01-02T18:00", "2026-01-05T18:00"]),
        ("30 6 * * mon,Thu", ["2026-01-01T06:30", "2026-01-05T06:30"]),
        ("0 8-18/5 * * *", ["2026-01-01T08:00", "2026-01-01T13:00", "2026-01-01T18:00", "2026-01-02T08:00"]),
        ("*/20 * * * *", ["2026-01-01T00:20", "2026-01-01T00:40", "2026-01-01T01:00"]),
        ("40/10 0 * * *", ["2026-01-01T00:40", "2026-01-01T00:50", "2026-01-02T00:40"]),
        ("0 0 L * *", ["2026-01-31T00:00", "2026-02-28T00:00", "2026-03-31T00:00"]),
        ("0 0 15,L feb *", ["2026-02-15T00:00", "2026-02-28T00:00", "2027-02-15T00:00"]),
        ("0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("0 0 13 * fri", ["2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00", "2026-01-16T00:00"]),
        ("0 0 */10 * sun", ["2026-01-11T00:00", "2026-02-01T00:00", "2026-03-01T00:00"]),
        ("0 0 * * 7", ["2026-01-04T00:00"]),
        ("@weekly", ["2026-01-04T00:00"]),
        ("@hourly", ["2026-01-01T01:00", "2026-01-01T02:00"]),
        ("@Yearly", ["2027-01-01T00:00"]),
    ],
)
def test_a_schedule_goes_off_when_it_says(cron: str, expected: list[str]) -> None:
    assert following(cron, "2026-01-01T00:00", len(expected)) == expected


def test_a_schedule_goes_off_after_the_moment_never_at_it() -> None:
    assert following("0 18 * * *", "2026-01-01T18:00") == ["2026-01-02T18:00"]


def test_a_leap_day_is_found_across_a_century_without_one() -> None:
    assert following("0 0 29 2 *", "2096-03-01T00:00") == ["2104-02-29T00:00"]
    assert following("0 0 29 2 */7", "2080-01-01T00:00") == ["2088-02-29T00:00"]  # which are Sundays
    assert following("0 0 29 2 */7", "2089-01-01T00:00") == ["2128-02-29T00:00"]


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("0 18 * *", "has 4 fields"),
        ("60 * * * *", "'60' is no minute"),
        ("* 24 * * *", "'24' is no hour"),
        ("* * 0 * *", "'0' is no day"),
        ("* * * foo *", "'foo' is no month"),
        ("* * * * 8", "'8' is no weekday"),
        ("*/0 * * * *", "'0' is no minute"),
        ("5-1 * * * *", "ends before it begins"),
        (", * * * *", "'' is no minute"),
        ("-1 * * * *", "'' is no minute"),
        ("0 0 30 2 *", "never runs"),
        ("0 0 31 4,6,9,11 *", "never runs"),
        ("l * * * *", "'l' is no minute"),
        ("\u0661 * * * *", "is no minute"),
        ("0 " * 200, "at most 200 characters"),
    ],
)
def test_what_cannot_be_a_schedule_is_refused_by_name(cron: str, said: str) -> None:
    with pytest.raises(Refused, match=said) as refused:
        read_cron(cron)
    assert (refused.value.code, refused.value.pointer) == ("batching.invalid", "/cron")


@pytest.mark.req("B1")
@pytest.mark.parametrize(
    ("cron", "after", "expected"),
    [
        # On 29 March 2026 the clocks of Berlin jump from 2 to 3 o'clock, which is 01:00 UTC.
        ("30 2 * * *", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        ("0,20,40 2 * * *", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:00"]),
        ("30 * * * *", "2026-03-29T00:00", ["2026-03-29T00:30", "2026-03-29T01:30"]),
        ("0 18 * * *", "2026-03-28T12:00", ["2026-03-28T17:00", "2026-03-29T16:00"]),
        # On 25 October they show 2 to 3 o'clock twice: from 00:00 and from 01:00 UTC.
        ("30 2 * * *", "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        ("30 * * * *", "2026-10-25T00:00", ["2026-10-25T00:30", "2026-10-25T01:30", "2026-10-25T02:30"]),
    ],
)
def test_clocks_that_are_set_neither_swallow_nor_repeat_a_batch(cron: str, after: str, expected: list[str]) -> None:
    assert following(cron, after, len(expected), BERLIN) == expected


def test_a_day_that_samoa_left_out_goes_off_when_it_was_left_out() -> None:
    """30 December 2011 did not exist there: what was due on it goes off as the 31st begins."""
    assert following("0 9 30 12 *", "2011-12-29T00:00", 1, "Pacific/Apia") == ["2011-12-30T10:00"]


def test_a_clock_that_is_set_back_across_midnight_goes_through_both() -> None:
    """On 7 November 2010, a minute after midnight (02:31 UTC), the clocks of St. John's went back to 23:01 of the 6th."""
    zone, after = "America/St_Johns", "2010-11-07T01:45"
    assert following("*/30 * * * *", after, 5, zone) == [
        "2010-11-07T02:00", "2010-11-07T02:30", "2010-11-07T03:00", "2010-11-07T03:30", "2010-11-07T04:00",
    ]  # fmt: skip
    assert following("0 0 * * *", after, 2, zone) == ["2010-11-07T02:30", "2010-11-08T03:30"]
