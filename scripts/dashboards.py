"""The dashboards of Grafana, written from a short table of panels: deploy/grafana/*.json.

A panel names metrics of ``core/metrics/table.py``; a test compares the names, and asks a real Prometheus for every expression.
Rule: only ``timeseries``, ``stat`` and ``table`` panels, each with a unit, in a fixed schema version.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from postroad.core.metrics.declaration import MetricKind
from postroad.core.metrics.table import METRICS

SCHEMA_VERSION = 39
WIDTH, HEIGHT, COLUMNS = 8, 7, 24
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
NODES = 'job=~"$job",instance=~"$instance"'
WINDOW = "[$__rate_interval]"
KINDS = {metric.full_name: metric.kind for metric in METRICS}


class Panel(NamedTuple):
    """A panel: its title, unit, and expressions with their legends; ``$nodes`` stands for the chosen nodes."""

    title: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    kind: str = "timeseries"


def gauge(title: str, unit: str, metric: str, by: str = "instance", kind: str = "timeseries") -> Panel:
    """Return a panel of a gauge."""
    return Panel(title, unit, ((f"sum by ({by}) ({_name(metric)}{{$nodes}})", _legend(by)),), kind)


def rates(title: str, unit: str, metric: str, by: str = "instance", where: str = "") -> Panel:
    """Return a panel of a counter's growth per second."""
    inside = f"$nodes,{where}" if where else "$nodes"
    return Panel(title, unit, ((f"sum by ({by}) (rate({_name(metric)}{{{inside}}}{WINDOW}))", _legend(by)),))


def quantiles(title: str, metric: str, by: str = "") -> Panel:
    """Return a panel of a histogram: half of the observations, and 99 % of them, are below these values."""
    labels = f"le, {by}" if by else "le"
    bucket = f"sum by ({labels}) (rate({_name(metric)}_bucket{{$nodes}}{WINDOW}))"
    shares = (("0.5", "median"), ("0.99", "99 %"))
    legend = f" {_legend(by)}" if by else ""
    return Panel(
        title, "s", tuple((f"histogram_quantile({share}, {bucket})", f"{name}{legend}") for share, name in shares)
    )


def both(title: str, unit: str, *metrics: str) -> Panel:
    """Return a panel of several gauges that are compared."""
    return Panel(title, unit, tuple((f"{_name(one)}{{$nodes}}", f"{one} {{{{instance}}}}") for one in metrics))


def _name(metric: str) -> str:
    return metric if metric.startswith("process_") else f"postroad_{metric}"


def _legend(by: str) -> str:
    return " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(","))


DASHBOARDS: dict[str, tuple[str, tuple[Panel, ...]]] = {
    "postroad-messages.json": (
        "postroad: messages",
        (
            Panel(
                "Alerts that fire",
                "none",
                (('sum(ALERTS{alertstate="firing",alertname=~"Postroad.*"}) or vector(0)', ""),),
                "stat",
            ),
            gauge("Oldest waiting delivery", "s", "oldest_waiting_seconds", kind="stat"),
            gauge("Dead letters", "none", "dead_letters", kind="stat"),
            rates("Posts by outcome", "reqps", "posts_total", "outcome"),
            rates("Posts by form", "reqps", "posts_total", "form", 'outcome="accepted"'),
            rates("Refusals by code", "reqps", "post_refusals_total", "code"),
            quantiles("Time to answer a post", "post_seconds", "bulk"),
            rates("Bytes posted", "Bps", "post_bytes_total"),
            rates("Requests over a limit", "reqps", "rate_limited_total", "what"),
            rates("Rules tried", "ops", "rules_tried_total"),
            gauge("Waiting deliveries", "none", "waiting_deliveries", "mode"),
            gauge("Leased deliveries", "none", "leased_deliveries", "mode"),
            gauge("Receivers that wait", "none", "long_polls"),
            rates("Deliveries queued", "ops", "deliveries_total"),
            rates("Hand-outs", "ops", "handed_out_total", "mode"),
            rates("Repeated hand-outs", "ops", "redeliveries_total", "mode"),
            quantiles("Time to the first hand-out", "first_handout_seconds", "present"),
            quantiles("Time to the acknowledgment", "delivery_seconds"),
            rates("Ends by state", "ops", "deliveries_ended_total", "state"),
            rates("New dead letters by cause", "ops", "dead_letters_total", "cause"),
            gauge("Expiry is late by", "s", "ends_late_seconds"),
            Panel(
                "Services with the most deliveries",
                "none",
                (("topk(20, max by (service) (postroad_top_waiting_deliveries{$nodes}))", "{{service}}"),),
                "table",
            ),
            rates("Push attempts by result", "ops", "push_attempts_total", "result"),
            quantiles("Duration of pushes", "push_seconds", "speed"),
            both("Push slots", "none", "push_slots_used", "push_slots"),
            gauge("Services with paused pushes", "none", "push_services_paused"),
            rates("Services switched to polling", "ops", "push_services_disabled_total"),
            gauge("Batches", "none", "batches", "state"),
            gauge("Oldest open batch", "s", "oldest_open_batch_seconds"),
            rates("MDNs", "ops", "mdns_total", "direction, disposition"),
            gauge("MDNs that partners owe", "none", "mdns_waiting"),
            rates("Notifications by result", "ops", "notifications_total", "channel, result"),
            gauge("Notifications to be tried again", "none", "notifications_waiting", "channel"),
            rates("Failed authentications", "ops", "authentication_failures_total", "kind"),
        ),
    ),
    "postroad-nodes.json": (
        "postroad: nodes",
        (
            Panel("Nodes that answer", "none", (('sum(up{job=~"$job"})', ""),), "stat"),
            gauge("Leader", "none", "leader", kind="stat"),
            Panel(
                "First certificate to expire",
                "dateTimeFromNow",
                (("1000 * min by (what) (postroad_certificate_expires_timestamp_seconds{$nodes})", "{{what}}"),),
                "stat",
            ),
            Panel(
                "Error budget: burn rate over 1 h",
                "none",
                tuple((f"postroad:slo_{one}:burn_1h", one) for one in ("availability", "post_latency", "hand_out")),
            ),
            Panel(
                "Error budget: burn rate over 6 h",
                "none",
                tuple((f"postroad:slo_{one}:burn_6h", one) for one in ("availability", "post_latency", "hand_out")),
            ),
            quantiles("Duration of journal syncs", "journal_sync_seconds"),
            Panel(
                "Entries per group",
                "none",
                (
                    (
                        f"sum by (instance) (rate(postroad_journal_entries_total{{$nodes}}{WINDOW}))"
                        f" / sum by (instance) (rate(postroad_journal_groups_total{{$nodes}}{WINDOW}))",
                        "{{instance}}",
                    ),
                ),
            ),
            rates("Bytes written to the journal", "Bps", "journal_bytes_total"),
            both("Bytes that wait for the journal", "bytes", "journal_waiting_bytes", "journal_waiting_limit_bytes"),
            both("Entries of journal and index", "none", "journal_head_entry", "index_entry"),
            gauge("Index is behind by", "s", "index_behind_seconds"),
            both("Free disk space", "bytes", "disk_free_bytes", "disk_least_free_bytes"),
            quantiles("Lag of the event loop", "loop_lag_seconds"),
            rates("CPU", "percentunit", "process_cpu_seconds_total"),
            gauge("Resident memory", "bytes", "process_resident_memory_bytes"),
            both("Open files", "none", "process_open_fds", "process_max_fds"),
            gauge("Connections", "none", "connections"),
            rates("Refused connections", "ops", "connections_refused_total"),
            both("Bodies in memory", "bytes", "bodies_in_flight_bytes", "bodies_in_flight_limit_bytes"),
            gauge("Connections whose posts wait", "none", "posts_waiting_connections"),
            both("Memory in use", "percentunit", "memory_used_ratio", "memory_limit_ratio"),
            rates("HTTP requests by route", "reqps", "http_requests_total", "route"),
            rates("HTTP errors of the server", "reqps", "http_requests_total", "route", 'class="5xx"'),
            quantiles("Duration of administration requests", "http_seconds", "route"),
            quantiles("Routing in threads", "route_seconds"),
            rates("Engine calls", "ops", "engine_calls_total", "engine"),
            quantiles("Duration of engine calls", "engine_seconds", "engine"),
            gauge("Engine workers", "none", "engine_workers", "engine"),
            rates("Killed engine workers", "ops", "engine_kills_total", "engine, cause"),
            quantiles("PostgreSQL transactions", "postgres_commit_seconds"),
            rates("Groups that PostgreSQL could not commit", "ops", "postgres_unavailable_total"),
            gauge("Configuration version", "none", "directory_version"),
            gauge("Age of the configuration", "s", "directory_age_seconds"),
            Panel(
                "Age of the last backup and verification",
                "s",
                tuple(
                    (f"time() - postroad_{one}_last_success_timestamp_seconds{{$nodes}}", f"{one} {{{{instance}}}}")
                    for one in ("backup", "verify")
                ),
            ),
            Panel(
                "Entries since the last backup",
                "none",
                (("postroad_journal_head_entry{$nodes} - postroad_backup_entry{$nodes}", "{{instance}}"),),
            ),
            rates("Spans exported", "ops", "trace_spans_total", "result"),
            rates("Traces skipped", "ops", "traces_skipped_total"),
            gauge("Traces are behind by", "s", "traces_behind_seconds"),
            rates("Gauges that could not be computed", "ops", "scrape_errors_total"),
            Panel("Uptime", "s", (("time() - process_start_time_seconds{$nodes}", "{{instance}}"),)),
        ),
    ),
}


def render(file: str) -> str:
    """Return the JSON of a dashboard."""
    title, panels = DASHBOARDS[file]
    dashboard = {
        "uid": file.removesuffix(".json"),
        "title": title,
        "tags": ["postroad"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "templating": {"list": [_source_variable(), _variable("job"), _variable("instance")]},
        "panels": [_panel(panel, number) for number, panel in enumerate(panels)],
    }
    return json.dumps(dashboard, indent=1, ensure_ascii=False) + "\n"


def expressions() -> list[str]:
    """Return every expression of every dashboard, for all nodes."""
    return [
        expression(query).replace(NODES, 'job=~".+",instance=~".+"').replace('"$job"', '".+"').replace(WINDOW, "[5m]")
        for _, panels in DASHBOARDS.values()
        for panel in panels
        for query, _ in panel.queries
    ]


def expression(query: str) -> str:
    return query.replace("$nodes", NODES)


def _panel(panel: Panel, number: int) -> dict[str, Any]:
    across = COLUMNS // WIDTH
    return {
        "id": number + 1,
        "type": panel.kind,
        "title": panel.title,
        "description": _describe(panel),
        "datasource": SOURCE,
        "gridPos": {"x": number % across * WIDTH, "y": number // across * HEIGHT, "w": WIDTH, "h": HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": expression(query), "legendFormat": legend}
            | ({"format": "table", "instant": True} if panel.kind == "table" else {})
            for place, (query, legend) in enumerate(panel.queries)
        ],
    }


def _describe(panel: Panel) -> str:
    """Return the help of the metrics that the panel shows."""
    shown = [metric for metric in METRICS if any(_uses(query, metric.full_name) for query, _ in panel.queries)]
    return " ".join(metric.help for metric in shown)


def _uses(query: str, name: str) -> bool:
    suffix = "_bucket" if KINDS[name] is MetricKind.HISTOGRAM else ""
    return f"{name}{suffix}{{" in query


def _source_variable() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}


def _variable(label: str) -> dict[str, Any]:
    return {
        "name": label,
        "type": "query",
        "datasource": SOURCE,
        "query": f"label_values(postroad_build_info, {label})",
        "includeAll": True,
        "multi": True,
        "allValue": ".+",
        "current": {"text": "All", "value": "$__all"},
        "refresh": 2,
    }
