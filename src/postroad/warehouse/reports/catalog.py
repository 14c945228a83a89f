"""All reports by command name: each sums up the tables of a period. ``REPORTS`` lists them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime
from typing import Any

from postroad.core.audit.percentiles import percentile_ms
from postroad.warehouse.reports.report_tables import Period, ReportTables, Row
from postroad.warehouse.reports.summary import BarChart, ChartSeries, CurveChart, DotChart, RankingChart, Summary

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


TYPES = ("request", "notification", "response", "refused")
SHARES = (0.5, 0.9, 0.99)
VENDOR = "vendor"  # the part in which someone is paid, not charged
MIN_STOPS = 20  # a service that was hardly used is not called slow
MICROS = 1_000_000  # of one unit of a currency
Report = Callable[[ReportTables, Period, int], Summary]


def traffic(tables: ReportTables, period: Period, top: int) -> Summary:
    """Messages by day and type."""
    rows = tables.rows("traffic", period)
    counts = _by_day(rows, "type", "messages")
    copies, size = _sums(rows, "copies"), _sums(rows, "bytes")
    shown = [[day, *[counts[day][type_] for type_ in TYPES], copies[day], size[day]] for day in sorted(counts)]
    return Summary(
        columns=("day", "requests", "notifications", "responses", "refused", "copies", "bytes"),
        rows=shown,
        chart=BarChart(title="Messages posted", unit="messages a day", series=_lines(counts, TYPES)),
    )


def errors(tables: ReportTables, period: Period, top: int) -> Summary:
    """Count errors by code and by the organization that caused them."""
    rows = tables.rows("errors", period)
    found: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[row["what"], row["code"]][row["organization"]] += row["count"]
    shown: list[list[Any]] = [
        [what, code, counts.total(), *counts.most_common(1)[0]] for (what, code), counts in found.items()
    ]
    shown.sort(key=lambda row: -row[2])
    by_day = _by_day(rows, "what", "count")
    kinds = list(dict.fromkeys(row[0] for row in shown))
    return Summary(
        columns=("what", "code", "count", "most_often_at", "there"),
        rows=shown[:top],
        chart=BarChart(title="What went wrong", unit="errors a day", series=_lines(by_day, kinds)),
    )


def latency(tables: ReportTables, period: Period, top: int) -> Summary:
    """Percentiles of how long things took, by what it was."""
    rows = tables.rows("latency", period)
    whole: defaultdict[str, Counter[int]] = defaultdict(Counter)
    days: defaultdict[date, Counter[int]] = defaultdict(Counter)
    for row in rows:
        whole[row["measure"]][row["bucket"]] += row["count"]
        if row["measure"] == "response":
            days[row["day"]][row["bucket"]] += row["count"]
    shown = [[measure, counts.total(), *_percentiles(counts)] for measure, counts in sorted(whole.items())]
    curves = [
        ChartSeries(
            label=f"p{share * 100:g}", points={day: percentile_ms(days[day], share) / 1_000 for day in sorted(days)}
        )
        for share in SHARES
    ]
    return Summary(
        columns=("measure", "count", "p50_ms", "p90_ms", "p99_ms"),
        rows=shown,
        chart=CurveChart(title="From request to response", unit="seconds", series=curves, logarithmic=True),
        notes=("waiting: until it was handed out; working: from there to its end; response: from request to response",),
    )


def slow(tables: ReportTables, period: Period, top: int) -> Summary:
    """Rank services by the ninetieth percentile of their working time."""
    work: defaultdict[str, Counter[int]] = defaultdict(Counter)
    names = tables.service_addresses()
    for row in tables.rows("latency", period, measure="working"):
        name: str = (
            names.get(row["service"]) or row["service"]
        )  # which several have had, where one was registered again
        work[name][row["bucket"]] += row["count"]
    used = {name: counts for name, counts in work.items() if counts.total() >= MIN_STOPS}
    shown: list[list[Any]] = [[name, counts.total(), *_percentiles(counts)] for name, counts in used.items()]
    shown.sort(key=lambda row: -row[3])
    ranked = {row[0]: row[3] / 1_000 for row in shown[:top]}
    return Summary(
        columns=("service", "deliveries", "p50_ms", "p90_ms", "p99_ms"),
        rows=shown[:top],
        chart=RankingChart(title="Slowest services", unit="seconds for nine in ten deliveries", values=ranked),
    )


def partners(tables: ReportTables, period: Period, top: int) -> Summary:
    """Rank pairs of organizations by messages."""
    sums: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in tables.rows("partners", period):
        for name in ("messages", "requests", "bytes", "errors", "undelivered"):
            sums[row["sender"], row["recipient"]][name] += row[name]
    shown: list[list[Any]] = [[*pair, *[one[name] for name in ("messages", "requests", "bytes", "errors", "undelivered")]]
             for pair, one in sums.items()]  # fmt: skip
    shown.sort(key=lambda row: (-row[2], row[0], row[1]))
    ranked = {f"{row[0]} → {row[1]}": row[2] for row in shown[:top]}
    return Summary(
        columns=("sender", "recipient", "messages", "requests", "bytes", "errors", "undelivered"),
        rows=shown[:top],
        chart=RankingChart(title="Partners with most traffic", unit="messages", values=ranked),
    )


def undelivered(tables: ReportTables, period: Period, top: int) -> Summary:
    """Messages that expired, failed, were rejected or withdrawn, or are still under way; the latest first."""
    rows = sorted(tables.rows("undelivered", period), key=lambda row: -row["posted_at_us"])
    states = Counter(row["state"] for row in rows)
    by_day: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for row in rows:
        by_day[row["day"]][row["state"]] += 1
    shown = [
        [row["session"], _moment(row["posted_at_us"]), row["type"], row["sender_organization"],
         row["recipient_organization"], row["state"], row["attempts"], row["reason"] or ""]
        for row in rows[:top]
    ]  # fmt: skip
    told = ", ".join(f"{count} {state}" for state, count in states.most_common())
    return Summary(
        columns=("session", "posted_at", "type", "sender", "recipient", "state", "attempts", "reason"),
        rows=shown,
        chart=BarChart(title="Not delivered", unit="messages a day", series=_lines(by_day, list(states))),
        notes=(told or "everything was delivered",),
    )


def anomalies(tables: ReportTables, period: Period, top: int) -> Summary:
    """Sudden changes of an organization's volume, error rate or latency."""
    rows = sorted(tables.rows("anomalies", period), key=lambda row: -abs(row["score"]))
    shown = [[row[name] for name in ("day", "organization", "measure", "value", "expected", "score")] for row in rows]
    measures = sorted({row["measure"] for row in rows})
    dots = [
        (measure, [(row["day"], row["score"], row["organization"]) for row in rows if row["measure"] == measure])
        for measure in measures
    ]
    return Summary(
        columns=("day", "organization", "measure", "value", "expected", "score"),
        rows=shown[:top],
        chart=DotChart(title="Sudden changes", unit="score", series=dots),
        notes=("volume in messages, errors as a share of answers, latency in milliseconds",),
    )


def cost(tables: ReportTables, period: Period, top: int) -> Summary:
    """Sum up charges and earnings of organizations, in whole micro-units of each currency."""
    charged: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    days: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for row in tables.sums("charges", period, ("day", "organization", "currency", "part"), "micros"):
        side = "earned" if row["part"] == VENDOR else "charged"
        charged[row["organization"], row["currency"]][side] += abs(row["micros"])
        if side == "charged":
            days[row["day"]][row["currency"]] += row["micros"]
    shown: list[list[Any]] = [
        [organization, currency, one["charged"], one["earned"]] for (organization, currency), one in charged.items()
    ]
    shown.sort(key=lambda row: (-row[2], row[0]))
    currencies = sorted({row[1] for row in shown})
    series = [
        ChartSeries(label=currency, points={day: days[day][currency] / MICROS for day in sorted(days)})
        for currency in currencies
    ]
    return Summary(
        columns=("organization", "currency", "charged_micros", "earned_micros"),
        rows=shown[:top],
        chart=BarChart(title="Charged for messages", unit="a day, in units of the currency", series=series),
    )


REPORTS: dict[str, Report] = {
    "traffic": traffic,
    "errors": errors,
    "latency": latency,
    "slow": slow,
    "partners": partners,
    "undelivered": undelivered,
    "anomalies": anomalies,
    "cost": cost,
    "batches": batches,
}


def _by_day(rows: Iterable[Row], name: str, value: str) -> defaultdict[date, Counter[str]]:
    found: defaultdict[date, Counter[str]] = defaultdict(Counter)
    for row in rows:
        found[row["day"]][row[name]] += row[value]
    return found


def _sums(rows: Iterable[Row], value: str) -> Counter[date]:
    found: Counter[date] = Counter()
    for row in rows:
        found[row["day"]] += row[value]
    return found


def _lines(counts: dict[date, Counter[str]], labels: Iterable[str]) -> list[ChartSeries]:
    return [ChartSeries(label=label, points={day: counts[day][label] for day in sorted(counts)}) for label in labels]


def _percentiles(counts: Counter[int]) -> list[float]:
    return [round(percentile_ms(counts, share), 1) for share in SHARES]


def _moment(at_us: int) -> Any:
    return datetime.fromtimestamp(at_us / 1_000_000, UTC).replace(microsecond=0)
