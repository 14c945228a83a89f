"""A clock on the wall of both offices that someone sets: days of the week go by in seconds."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

NEW_YORK = ZoneInfo("America/New_York")
MONDAY = 0


class OfficeClock:
    """Goes as every clock does, from whatever it was set to; it is never set back."""

    def __init__(self) -> None:
        self._ahead_us = 0

    def now_us(self) -> int:
        return time.time_ns() // 1_000 + self._ahead_us

    def monotonic(self) -> float:
        return time.monotonic()

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.now_us() / 1_000_000, NEW_YORK)

    def next_monday(self) -> datetime:
        today = self.now().replace(hour=0, minute=0, second=0, microsecond=0)
        return today + timedelta(days=(MONDAY - today.weekday()) % 7 or 7)

    def set(self, when: datetime) -> None:
        self._ahead_us += max(0, round(when.timestamp() * 1_000_000) - self.now_us())
