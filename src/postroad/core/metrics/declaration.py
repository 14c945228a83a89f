"""The declaration of a metric: name, kind, labels and buckets.

Rule: the values of every label are bounded, by a list or by a maximum number. No label names a service, an organization, a
session or a URL, except for ``top_*`` metrics, which keep only the services that need attention most.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

PREFIX = "postroad_"
UNPREFIXED = "process_"  # metrics of the process have the names that every client library uses
OTHER = "other"  # replaces label values that are not listed, or too many


class MetricKind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"  # always 1; its labels are the information


class Label(NamedTuple):
    """A label with the values it can have."""

    name: str
    values: tuple[str, ...] = ()  # empty: any, as they occur, up to ``most``
    most: int = 0


class Metric(NamedTuple):
    """One metric of the table."""

    name: str  # without the prefix
    kind: MetricKind
    help: str  # one sentence
    labels: tuple[Label, ...] = ()
    buckets: tuple[float, ...] = ()  # upper bounds, of a histogram
    is_detail: bool = False  # for investigations: needed in no dashboard and no alert

    @property
    def full_name(self) -> str:
        """Return the name as Prometheus knows it."""
        return self.name if self.name.startswith(UNPREFIXED) else PREFIX + self.name
