"""Writes metrics as Prometheus reads them: the text format 0.0.4, and OpenMetrics 1.0.

The two differ little: OpenMetrics names a counter without ``_total``, knows the type ``info``, and ends with ``# EOF``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from math import inf

from postroad.core.metrics.declaration import Metric, MetricKind
from postroad.core.metrics.instruments import Histogram, Instrument

TEXT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"

Families = Iterable[tuple[Metric, dict[tuple[str, ...], Instrument]]]


def write_text(families: Families) -> str:
    """Return the metrics in the text format 0.0.4."""
    return "".join(line for metric, instruments in families for line in _family(metric, instruments, is_open=False))


def write_open_metrics(families: Families) -> str:
    """Return the metrics in OpenMetrics 1.0."""
    lines = [line for metric, instruments in families for line in _family(metric, instruments, is_open=True)]
    return "".join(lines) + "# EOF\n"


def accepts_open_metrics(accept: str) -> bool:
    """Return whether a client with this Accept header prefers OpenMetrics to the text format."""
    quality = {"application/openmetrics-text": 0.0, "text/plain": 0.0, "*/*": 0.0}
    for item in accept.split(","):
        name, *parameters = [piece.strip().lower() for piece in item.split(";")]
        if name in quality:
            quality[name] = max(quality[name], _quality(parameters))
    wanted = quality["application/openmetrics-text"]
    return wanted > 0 and wanted >= max(quality["text/plain"], quality["*/*"])


def _quality(parameters: list[str]) -> float:
    given = next((parameter[2:] for parameter in parameters if parameter.startswith("q=")), "1")
    try:
        return float(given)
    except ValueError:
        return 0.0


def _family(metric: Metric, instruments: dict[tuple[str, ...], Instrument], *, is_open: bool) -> Iterator[str]:
    name, kind = metric.full_name, metric.kind.value
    if is_open and metric.kind is MetricKind.COUNTER:
        name = name.removesuffix("_total")
    elif metric.kind is MetricKind.INFO:
        name, kind = (name.removesuffix("_info"), "info") if is_open else (name, "gauge")
    yield f"# HELP {name} {_escaped(metric.help)}\n# TYPE {name} {kind}\n"
    names = tuple(label.name for label in metric.labels)
    for values, instrument in instruments.items():
        labels = [f'{label}="{_escaped(value, quotes=True)}"' for label, value in zip(names, values, strict=True)]
        if isinstance(instrument, Histogram):
            yield from _histogram(metric.full_name, labels, instrument)
        else:
            yield f"{metric.full_name}{_braced(labels)} {_number(instrument.value)}\n"


def _histogram(name: str, labels: list[str], histogram: Histogram) -> Iterator[str]:
    count = 0
    for bound, count in zip((*histogram.bounds, inf), accumulate(histogram.counts), strict=True):
        within = 'le="+Inf"' if bound == inf else f'le="{float(bound)!r}"'
        yield f"{name}_bucket{_braced([*labels, within])} {count}\n"
    yield f"{name}_sum{_braced(labels)} {_number(histogram.total)}\n{name}_count{_braced(labels)} {count}\n"


def _braced(labels: list[str]) -> str:
    return "{" + ",".join(labels) + "}" if labels else ""


def _number(value: float) -> str:
    if value in (inf, -inf):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def _escaped(text: str, *, quotes: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quotes else text
