"""The reports of one organization or all, from the warehouse's tables to tables and plots; ``REPORTS`` lists them.

Rules: a member sees only the services of their own organization. Partners are named only as in the message itself: as
its sender wrote them, and by the sender unless another recipient replaced the one named.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from postroad.adapters.marts.tables import ALL, Marts, Row, RowFilter
from postroad.console.mart_queries import (
    BATCH_DAYS,
    BATCHES,
    ERRORS,
    LATENCY,
    PARTNERS,
    PARTNERS_OF_ALL,
    USAGE,
    USAGE_DAYS,
)
from postroad.console.plots import Curve, Plot, PlotStyle, list_days, make_curves
from postroad.core.audit.percentiles import percentile_ms

SHARES = (0.5, 0.9, 0.99)
MAX_CURVES = 5
OTHERS = "others"
UNNAMED = "(forwarded to you)"  # by someone who stands between


@dataclass(frozen=True, slots=True, kw_only=True)
class MartReport:
    title: str
    lead: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    plot: Plot
    made_at_us: int


def usage(folder: Path, asked: RowFilter) -> MartReport:
    marts = Marts(folder, "usage", "services")
    days = _by_day(marts.rows(USAGE_DAYS, *asked.values))
    shown = list_days(asked.first, asked.last)
    labels = {"sender": "sent", "recipient": "received", "in transit": "passed in transit"}
    curves = [
        Curve(label=label, values=[days[day][role] for day in shown])
        for role, label in labels.items()
        if any(counts[role] for counts in days.values())
    ]
    rows = [(service, labels.get(role, role), *counts) for service, role, *counts in marts.rows(USAGE, *asked.values)]
    return MartReport(
        title="Usage",
        lead="Messages that each service sent, received, or processed in transit.",
        columns=("service", "part", "messages", "bytes"),
        rows=rows,
        plot=Plot(title="Messages a day", unit="messages", days=shown, curves=curves),
        made_at_us=marts.made_at_us,
    )


def errors(folder: Path, asked: RowFilter) -> MartReport:
    marts = Marts(folder, "errors")
    found = marts.rows(ERRORS, *asked.values)
    sums: Counter[tuple[str, str]] = Counter()
    days: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for day, what, code, count in found:
        sums[what, code or ""] += count
        days[day][what] += count
    shown = list_days(asked.first, asked.last)
    return MartReport(
        title="Errors",
        lead="Refused posts and recipients, error responses of services, and messages that expired or failed at services.",
        columns=("what", "code", "count"),
        rows=[(*key, count) for key, count in sums.most_common()],
        plot=Plot(
            title="Errors a day", unit="errors", days=shown, curves=make_curves(days, shown, _largest_labels(days))
        ),
        made_at_us=marts.made_at_us,
    )


def latency(folder: Path, asked: RowFilter) -> MartReport:
    marts = Marts(folder, "latency", "services")
    whole: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    days: defaultdict[str, defaultdict[date, Counter[int]]] = defaultdict(lambda: defaultdict(Counter))
    for day, measure, service, bucket, count in marts.rows(LATENCY, *asked.values):
        whole[service, measure][bucket] += count
        days[measure][day][bucket] += count
    measure = "response" if "response" in days else "working"
    rows = [(*key, counts.total(), *_percentiles(counts)) for key, counts in sorted(whole.items())]
    shown = list_days(asked.first, asked.last)
    known = {day: dict(zip(LABELS, _percentiles(counts), strict=True)) for day, counts in days[measure].items()}
    what = "From request to response" if measure == "response" else "From the hand-out to the end"
    return MartReport(
        title="Latency",
        lead="Waiting time, processing time and response time per service, as percentiles: 50% of messages took at most p50, "
        "90% at most p90, 99% at most p99.",
        columns=("service", "measure", "count", "p50 ms", "p90 ms", "p99 ms"),
        rows=rows,
        plot=Plot(
            title=what, unit="milliseconds", days=shown, drawn=PlotStyle.LINES,
            curves=make_curves(known, shown, LABELS if known else (), None),
        ),
        made_at_us=marts.made_at_us,
    )  # fmt: skip


def partners(folder: Path, asked: RowFilter) -> MartReport:
    names = ("partners",) if asked.organization == ALL else ("message_histories", "services")
    marts = Marts(folder, *names)
    sums: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    days: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for day, first, second, *counts in marts.rows(
        PARTNERS_OF_ALL if asked.organization == ALL else PARTNERS, *asked.values
    ):
        pair = (first, second or UNNAMED)
        sums[pair].update(dict(enumerate(counts)))
        days[day][f"{first} → {second}" if asked.organization == ALL else f"{first} {pair[1]}"] += counts[0]
    ranked = sorted(sums.items(), key=lambda item: (-item[1][0], item[0]))
    rows = [(*pair, *[counts[place] for place in range(4)]) for pair, counts in ranked]
    shown = list_days(asked.first, asked.last)
    pair_names = ("sender", "recipient") if asked.organization == ALL else ("way", "partner")
    return MartReport(
        title="Top partners",
        lead="The pairs of sender and recipient with the most requests and notifications; responses are not counted separately.",
        columns=(*pair_names, "messages", "requests", "bytes", "undelivered"),
        rows=rows,
        plot=Plot(title="Messages a day", unit="messages", days=shown, curves=_ranked(days, shown)),
        made_at_us=marts.made_at_us,
    )


def batches(folder: Path, asked: RowFilter) -> MartReport:
    marts = Marts(folder, "batches", "services")
    days = _by_day(marts.rows(BATCH_DAYS, *asked.values))
    shown = list_days(asked.first, asked.last)
    return MartReport(
        title="Batches",
        lead="Batches of send ports: what they gathered and sent, which criteria closed them, how long messages waited, and "
        "which need attention.",
        columns=(
            *("send port", "batches", "messages", "bytes", "usually closed by", "waiting s", "sending s"),
            *("under way", "suspended", "dropped", "rejected"),
        ),
        rows=[tuple(_rounded(value) for value in row) for row in marts.rows(BATCHES, *asked.values)],
        plot=Plot(
            title="Batches a day, by what closed them",
            unit="batches",
            days=shown,
            curves=make_curves(days, shown, _largest_labels(days)),
        ),
        made_at_us=marts.made_at_us,
    )


REPORTS: dict[str, Callable[[Path, RowFilter], MartReport]] = {
    "usage": usage,
    "latency": latency,
    "errors": errors,
    "partners": partners,
    "batches": batches,
}
LABELS = tuple(f"p{share * 100:g}" for share in SHARES)


def _by_day(rows: Iterable[Row]) -> defaultdict[date, Counter[str]]:
    found: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for day, label, count in rows:
        found[day][label] += count
    return found


def _largest_labels(days: dict[date, Counter[str]]) -> list[str]:
    """Return the labels with the largest totals, largest first."""
    return [label for label, _ in sum(days.values(), Counter[str]()).most_common()]


def _ranked(days: dict[date, Counter[str]], shown: Sequence[date]) -> list[Curve]:
    """Return a curve for each of the largest labels, and one for all others."""
    ranked = _largest_labels(days)
    curves = make_curves(days, shown, ranked[:MAX_CURVES])
    if len(ranked) > MAX_CURVES:
        values = [sum(days[day][label] for label in ranked[MAX_CURVES:]) if day in days else 0 for day in shown]
        curves.append(Curve(label=OTHERS, values=values))
    return curves


def _percentiles(counts: Counter[int]) -> list[float]:
    return [round(percentile_ms(counts, share), 1) for share in SHARES]


def _rounded(value: Any) -> Any:
    return round(value, 1) if isinstance(value, float) else value
