"""The result of refreshing one table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedTable:
    """A refreshed table and the recomputed days; no days if it is remade whole."""

    table: str
    days: tuple[date, ...]
