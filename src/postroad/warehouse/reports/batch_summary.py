"""The report ``batches``: what send ports sent, what closed their batches, and which batches need attention."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import date
from typing import Any

from postroad.warehouse.reports.report_tables import Period, ReportTables, Row
from postroad.warehouse.reports.summary import BarChart, ChartSeries, Summary

SECOND_US = 1_000_000
NOT_YET = "open"
COLUMNS = (
    *("port", "batches", "messages", "bytes", "messages_each", "closed_mostly_by", "waiting_s", "sending_s"),
    *("under_way", "suspended", "dropped", "rejected"),
)
OVER = ("sent", "dropped", "dissolved", "suspended")


def batches(tables: ReportTables, period: Period, top: int) -> Summary:
    """Ports with most batches first; ``waiting_s`` is how long a message waited for its batch to be closed, on average."""
    ports: defaultdict[str, list[Row]] = defaultdict(list)
    days: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for row in tables.rows("batches", period):
        ports[row["service"] or ""].append(row)
        days[row["day"]][row["closed_by"] or NOT_YET] += 1
    names = tables.service_addresses()
    shown = [_port(names.get(port, port), rows) for port, rows in ports.items()]
    shown.sort(key=lambda row: (-row[1], row[0]))
    criteria = sorted({criterion for counts in days.values() for criterion in counts})
    series = [ChartSeries(label=name, points={day: days[day][name] for day in sorted(days)}) for name in criteria]
    suspended = sum(row[COLUMNS.index("suspended")] for row in shown)
    return Summary(
        columns=COLUMNS,
        rows=shown[:top],
        chart=BarChart(title="Batches by what closed them", unit="batches a day", series=series),
        notes=(f"{suspended} suspended: `postroad batches` lists them",) if suspended else (),
    )


def _port(name: str, rows: Sequence[Row]) -> list[Any]:
    members = sum(row["members"] for row in rows)
    states = Counter(row["state"] for row in rows)
    closed_by = Counter(row["closed_by"] for row in rows if row["closed_by"])
    return [
        name,
        len(rows),
        members,
        sum(row["bytes"] for row in rows),
        round(members / len(rows), 1),
        closed_by.most_common(1)[0][0] if closed_by else "",
        _mean_s([(row["member_waiting_us"], row["members"]) for row in rows]),
        _mean_s([(row["sending_us"], 1) for row in rows if row["state"] == "sent"]),
        sum(count for state, count in states.items() if state not in OVER),
        states["suspended"],
        states["dropped"],
        sum(row["verdict"] == "rejected" for row in rows),
    ]


def _mean_s(weighted: Sequence[tuple[int | None, int]]) -> float:
    known = [(value, weight) for value, weight in weighted if value is not None]
    weight = sum(weight for _, weight in known)
    return round(sum(value * times for value, times in known) / weight / SECOND_US, 1) if weight else 0.0
