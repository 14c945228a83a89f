from __future__ import annotations

from postroad.core.billing.calendar import period_us
from postroad.core.billing.forecast import forecast_micros

BEGINS_US, ENDS_US = period_us("2026-11", "Europe/Berlin")
DAY_US = 86_400_000_000


def test_a_month_goes_on_as_it_began() -> None:
    assert forecast_micros(1_000_000, "2026-11", "Europe/Berlin", BEGINS_US + 10 * DAY_US) == 3_000_000
    assert forecast_micros(-500, "2026-11", "Europe/Berlin", BEGINS_US + 15 * DAY_US) == -1_000
    odd = 2**53 + 1  # which a float has no room for
    assert forecast_micros(odd, "2026-11", "Europe/Berlin", BEGINS_US + 15 * DAY_US) == 2 * odd


def test_says_nothing_too_early_and_nothing_else_when_it_is_over() -> None:
    assert forecast_micros(1_000_000, "2026-11", "Europe/Berlin", BEGINS_US + DAY_US // 2) is None
    assert forecast_micros(1_000_000, "2026-11", "Europe/Berlin", BEGINS_US - DAY_US) is None
    assert forecast_micros(1_234_567, "2026-11", "Europe/Berlin", ENDS_US) == 1_234_567
