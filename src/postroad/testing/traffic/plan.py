"""The contents of a simulated journal: organizations, days, messages and incidents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

DAY_US = 86_400_000_000
HOUR_US = 3_600_000_000


class Trouble(StrEnum):
    """The kinds of incidents that an organization can have for a day."""

    VOLUME = "volume"  # it posts several times as many messages as usual
    ERRORS = "errors"  # many of its responses are errors
    LATENCY = "latency"  # its responses take several times as long


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """An incident planted at one organization on one day, to be found by analysis."""

    organization: str
    day: date
    trouble: Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficPlan:
    """The parameters of a journal; ``messages`` counts requests and notifications, without responses."""

    organizations: int = 200
    days: int = 30
    messages: int = 100_000
    seed: int = 7
    first_day: date = date(2026, 10, 1)
    body_bytes: int = 600  # median length of a document
    incidents: int = 0

    @property
    def start_us(self) -> int:
        midnight = datetime(self.first_day.year, self.first_day.month, self.first_day.day, tzinfo=UTC)
        return int(midnight.timestamp()) * 1_000_000

    @property
    def end_us(self) -> int:
        return self.start_us + self.days * DAY_US

    def day(self, number: int) -> date:
        return self.first_day + timedelta(days=number)
