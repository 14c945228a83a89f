"""Delivery windows: when a service may be pushed to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryWindow:
    """A time of the day, in the service's time zone, in which pushes may happen; may cross midnight."""

    days: tuple[str, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    opens: str = "00:00"
    closes: str = "24:00"
