"""The reference page of the metrics, written from their table."""

from __future__ import annotations

from postroad.core.metrics.alerts import ALERTS, RECORDINGS, runbook_path
from postroad.core.metrics.declaration import Label, Metric
from postroad.core.metrics.table import METRICS

INTRODUCTION = """# Metrics

<!-- Written by `python -m scripts.reference_pages`; a test compares. Change core/metrics/table.py, not this page. -->

`GET /metrics` on the address of `metrics_listen` returns these metrics, in the Prometheus text format 0.0.4 or, if the `Accept`
header prefers it, in OpenMetrics 1.0. [Monitor a network](../howto/monitor-a-network.md) shows how to use them.

- Counters start at 0 with the process. Gauges are computed when the page is read.
- Every node has its own page, with its own numbers. Gauges of queues, dead letters, batches and the index describe the whole
  network and are the same on every node of a shared one: use `max`, not `sum`.
- A metric is listed once a component uses it: `postgres_…` and `directory_age_seconds` only on shared networks.
- Label values are bounded. No label names an organization, a service, a session or a URL, except in `top_waiting_deliveries`.

| metric | type | labels | meaning |
|---|---|---|---|
"""

ALERTS_HEAD = """
## Alerts

`deploy/prometheus/postroad.rules.yml` has these rules. *Live*: `postroad doctor --live` evaluates the condition too.

| alert | severity | fires after | live | meaning |
|---|---|---|---|---|
"""

RECORDINGS_HEAD = """
## Objectives

Recorded series: how many times faster than allowed the error budget of an objective is used (1: exactly all of it).

| series | objective |
|---|---|
"""

OBJECTIVES = {
    "availability": "99.9 % of posts are answered without `unavailable`",
    "post_latency": "99 % of posts are answered within 100 ms",
    "hand_out": "99 % of messages for a receiver that is asking are handed out within 1 s",
}


def render() -> str:
    return "".join(
        (
            INTRODUCTION,
            *map(_row, METRICS),
            ALERTS_HEAD,
            *(
                f"| [{one.name}](../../{runbook_path(one.name)}) | {one.severity} | {one.hold} "
                f"| {'yes' if one.live else f'no: needs {one.history}'} | {one.summary} |\n"
                for one in ALERTS
            ),
            RECORDINGS_HEAD,
            *(f"| `{one.name}` | {_objective(one.name)} |\n" for one in RECORDINGS),
        )
    )


def _row(metric: Metric) -> str:
    labels = "; ".join(map(_label, metric.labels))
    return f"| `{metric.full_name}` | {metric.kind} | {labels} | {metric.help} |\n"


def _label(label: Label) -> str:
    values = ", ".join(label.values) if label.values else f"at most {label.most}"
    return f"`{label.name}` ({values})"


def _objective(series: str) -> str:
    name, _, window = series.removeprefix("postroad:slo_").partition(":burn_")
    return f"{OBJECTIVES[name]}; over {window}"
