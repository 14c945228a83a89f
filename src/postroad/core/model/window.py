"""Delivery windows: when messages may be pushed to a service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryWindow:
    """A daily period, in the service's time zone, in which pushes are allowed; may cross midnight."""

    days: tuple[str, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    opens: str = "00:00"
    closes: str = "24:00"
