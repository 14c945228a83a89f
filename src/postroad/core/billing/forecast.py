"""Forecasts the total of a month from the charges so far.

Rule: a forecast is a linear projection: the charges so far, per time elapsed, are assumed for the rest of the month.
Used-up allowances and tiers that are not reached yet are not considered.
"""

from __future__ import annotations

from postroad.core.billing.calendar import period_us

MIN_SHARE = 0.03  # about a day: before that, an hour more or less would make a bill


def forecast_micros(charged_micros: int, period: str, time_zone: str, counted_upto_us: int) -> int | None:
    """The whole month in micro-units; None while too little of it has been counted. What is over is what it is."""
    begins_us, ends_us = period_us(period, time_zone)
    if counted_upto_us >= ends_us:
        return charged_micros
    passed_us = counted_upto_us - begins_us
    if passed_us < MIN_SHARE * (ends_us - begins_us):
        return None
    # Rounded half up, in whole numbers: money is never a float.
    return (2 * charged_micros * (ends_us - begins_us) + passed_us) // (2 * passed_us)
