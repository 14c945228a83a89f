"""The metrics of one process: instruments by metric and label values, as declared in the table.

Rules: only declared metrics exist, with declared labels; values outside a label's list are counted as ``other``. A counter with
listed label values shows all of them, at 0, as soon as a component uses it, so that the first increase is not lost. A metric
that no component uses is not shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Generic, TypeVar

from postroad.core.metrics.declaration import OTHER, Label, Metric, MetricKind
from postroad.core.metrics.instruments import Counter, Gauge, Histogram, Instrument
from postroad.core.metrics.table import METRICS

FAILED = "scrape_errors_total"
MAX_SHOWN_AT_ZERO = 64  # combinations of label values of one metric

Values = tuple[str, ...]
InstrumentT = TypeVar("InstrumentT", Counter, Gauge, Histogram)


class Family(Generic[InstrumentT]):
    """One metric with an instrument for each combination of its label values."""

    __slots__ = ("_build", "_found", "instruments", "metric")

    def __init__(self, metric: Metric, build: Callable[[], InstrumentT]) -> None:
        self.metric = metric
        self.instruments: dict[Values, InstrumentT] = {}
        self._build: Callable[[], InstrumentT] = build
        self._found: dict[Values, InstrumentT] = {}  # also by values that are counted as others
        if metric.kind is not MetricKind.GAUGE:
            self._show_at_zero()

    def of(self, *values: str) -> InstrumentT:
        """Return the instrument for these label values, in the order of the declaration."""
        found = self._found.get(values)
        return found if found is not None else self._add(values)

    def forget(self) -> None:
        """Remove all instruments, before gauges of changing label values are set again."""
        self.instruments.clear()
        self._found.clear()

    def _add(self, values: Values) -> InstrumentT:
        if len(values) != len(self.metric.labels):
            names = ", ".join(label.name for label in self.metric.labels) or "none"
            raise ValueError(f"metric {self.metric.name} has the labels: {names}; it was given {values}")
        bounded = tuple(map(self._bound, self.metric.labels, values, range(len(values))))
        instrument = self.instruments.get(bounded)
        if instrument is None:
            instrument = self.instruments[bounded] = self._build()
        if bounded == values or len(self._found) < 2 * MAX_SHOWN_AT_ZERO:
            self._found[values] = instrument
        return instrument

    def _bound(self, label: Label, value: str, place: int) -> str:
        if label.values:
            return value if value in label.values else OTHER
        known = {values[place] for values in self.instruments}
        return value if value in known or len(known) < label.most else OTHER

    def _show_at_zero(self) -> None:
        combinations = list(product(*(label.values for label in self.metric.labels)))
        if len(combinations) <= MAX_SHOWN_AT_ZERO:
            for values in combinations:
                self.of(*values)


def _has_updated(update: Callable[[], None]) -> bool:
    """Call an update; a page without one number is better than none."""
    try:
        update()
    except Exception:
        return False
    return True


AnyFamily = Family[Counter] | Family[Gauge] | Family[Histogram]


class Metrics:
    """Hands out the instruments of one process. Components receive it, and keep the instruments that they change."""

    def __init__(self, table: Iterable[Metric] = METRICS) -> None:
        self._declared = {metric.name: metric for metric in table}
        self._families: dict[str, AnyFamily] = {}
        self._updates: list[Callable[[], None]] = []

    def on_read(self, update: Callable[[], None]) -> None:
        """Call ``update`` before each page: it sets gauges from numbers that are in memory, without waiting."""
        self._updates.append(update)

    def read(self) -> Iterator[tuple[Metric, dict[Values, Instrument]]]:
        """Update the gauges, and return the metrics in use with their instruments, in the order of the table."""
        failed = [update for update in self._updates if not _has_updated(update)]
        if failed:
            self.counter(FAILED).value += len(failed)
        return self.families()

    def counters(self, name: str) -> Family[Counter]:
        """Return a counter with labels; ``of`` finds the instrument of given values."""
        return self._family(name, MetricKind.COUNTER, Counter)

    def counter(self, name: str, *values: str) -> Counter:
        return self.counters(name).of(*values)

    def gauges(self, name: str) -> Family[Gauge]:
        """Return a gauge with labels."""
        return self._family(name, MetricKind.GAUGE, Gauge)

    def gauge(self, name: str, *values: str) -> Gauge:
        return self.gauges(name).of(*values)

    def histograms(self, name: str) -> Family[Histogram]:
        """Return a histogram with labels."""
        bounds = self._metric(name, MetricKind.HISTOGRAM).buckets
        return self._family(name, MetricKind.HISTOGRAM, lambda: Histogram(bounds))

    def histogram(self, name: str, *values: str) -> Histogram:
        return self.histograms(name).of(*values)

    def inform(self, name: str, *values: str) -> None:
        """Set a metric that is only information, in its labels; earlier information is removed."""
        family = self._family(name, MetricKind.INFO, Gauge)
        family.forget()
        family.of(*values).set(1)

    def families(self) -> Iterator[tuple[Metric, dict[Values, Instrument]]]:
        """Return the metrics in use with their instruments, in the order of the table."""
        for name, metric in self._declared.items():
            family = self._families.get(name)
            if family is not None and family.instruments:
                yield metric, dict(family.instruments)

    def value(self, name: str, *values: str) -> float:
        """Return the value of a counter or gauge, or the number of observations of a histogram; 0 if it is not in use."""
        family = self._families.get(name)
        instrument: Instrument | None = family.instruments.get(values) if family is not None else None
        if isinstance(instrument, Histogram):
            return sum(instrument.counts)
        return instrument.value if instrument is not None else 0

    def _metric(self, name: str, kind: MetricKind) -> Metric:
        metric = self._declared.get(name)
        if metric is None:
            raise KeyError(f"metric {name} is not declared; add it to core/metrics/table.py")
        if metric.kind is not kind:
            raise TypeError(f"metric {name} is a {metric.kind}, not a {kind}")
        return metric

    def _family(self, name: str, kind: MetricKind, build: Callable[[], InstrumentT]) -> Family[InstrumentT]:
        metric = self._metric(name, kind)
        family = self._families.get(name)
        if family is None:
            family = self._families[name] = Family(metric, build)
        return family  # type: ignore[return-value]  # the kind of the metric decides the type of its instruments
