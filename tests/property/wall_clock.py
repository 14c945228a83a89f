"""What delivery windows should do, found by looking at the clock on the wall again and again; slow and plain."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import accumulate
from zoneinfo import ZoneInfo

from postroad.core.model.directory import DeliveryWindow

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY_MINUTES = 1_440
WEEKDAYS = ("thu", "fri", "sat", "sun", "mon", "tue", "wed")  # of 1 January 1970 and the days after


def minutes(text: str) -> int:
    return int(text[:2]) * 60 + int(text[3:])


def minute_of(moment: datetime) -> int:
    return int((moment - EPOCH).total_seconds()) // 60


class WallClock:
    """The clock of a zone, read every ``step`` minutes from one moment to another."""

    def __init__(self, zone: str, begins: datetime, ends: datetime, step: int) -> None:
        self.first, self.step = minute_of(begins), step
        self.shown = [self._shows(minute, ZoneInfo(zone)) for minute in range(self.first, minute_of(ends), step)]
        self._highest_until = list(accumulate(self.shown, max))
        self._lowest_from = list(accumulate(reversed(self.shown), min))[::-1]

    @staticmethod
    def _shows(minute: int, zone: ZoneInfo) -> int:
        offset = datetime.fromtimestamp(minute * 60, zone).utcoffset()
        assert offset is not None
        return minute + offset.days * DAY_MINUTES + offset.seconds // 60

    def open_readings(self, windows: Sequence[DeliveryWindow]) -> bytearray:
        """For each reading, 1 if pushes may happen."""
        is_open = bytearray(len(self.shown))
        for day in range(self.shown[0] // DAY_MINUTES - 2, self.shown[-1] // DAY_MINUTES + 2):
            for window in windows:
                if WEEKDAYS[day % 7] in window.days:
                    opens, closes = minutes(window.opens), minutes(window.closes)
                    closes += DAY_MINUTES if closes < opens else 0
                    begin = bisect_left(
                        self._highest_until, day * DAY_MINUTES + opens
                    )  # the first reading that shows so much
                    end = bisect_left(
                        self._lowest_from, day * DAY_MINUTES + closes
                    )  # after the last one that shows less
                    if begin < end:
                        is_open[begin:end] = b"\1" * (end - begin)
        return is_open

    def us(self, reading: int) -> int:
        return (self.first + reading * self.step) * 60_000_000
