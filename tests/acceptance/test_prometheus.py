"""The files in deploy/, with the real programs: rules, their tests, the configuration, and a Prometheus that scrapes a server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from postroad.core.metrics.alerts import ALERTS, RECORDINGS, Alert, Recording
from postroad.core.metrics.declaration import MetricKind
from postroad.core.metrics.table import METRICS
from scripts.dashboards import DASHBOARDS, expressions
from tests.samples.prometheus import DEPLOY, ELSEWHERE, Prometheus, run, scraping
from tests.samples.served_network import served
from tests.waiting import eventually

RULES: tuple[Alert | Recording, ...] = (*ALERTS, *RECORDINGS)
NAME = re.compile(r"\b(?:postroad|process)_[a-z_]+")
BUYER, SELLER = "MyBiz/Purchasing", "Acme/Supply"
USED_AS = {MetricKind.HISTOGRAM: ("_bucket", "_count", "_sum")}


def test_the_configuration_and_the_rules_are_valid() -> None:
    assert "SUCCESS" in run("promtool", "check", "config", "prometheus.yml", folder=DEPLOY / "prometheus")
    assert f"{len(ALERTS) + len(RECORDINGS)} rules found" in run(
        "promtool", "check", "rules", "postroad.rules.yml", folder=DEPLOY / "prometheus"
    )
    assert "SUCCESS" in run("amtool", "check-config", str(DEPLOY / "alertmanager" / "alertmanager.yml"))


@pytest.mark.req("O4")
def test_every_alert_fires_and_is_quiet_as_it_should() -> None:
    assert "SUCCESS" in run("promtool", "test", "rules", "postroad.rules.test.yml", folder=DEPLOY / "prometheus")


def test_every_metric_is_in_a_dashboard_or_a_rule_or_a_detail() -> None:
    texts = [*expressions(), *(rule.expression for rule in RULES)]
    used = {name for text in texts for name in NAME.findall(text)}
    unused = [
        metric.name
        for metric in METRICS
        if not metric.is_detail
        and not used & {metric.full_name, *(metric.full_name + suffix for suffix in USED_AS.get(metric.kind, ()))}
    ]
    assert unused == []


@pytest.mark.parametrize("file", DASHBOARDS)
def test_panels_name_metrics_and_have_units(file: str) -> None:
    dashboard = json.loads((DEPLOY / "grafana" / file).read_text())
    known = {metric.full_name for metric in METRICS} | {one.name.partition(":")[0] for one in RECORDINGS}
    known |= {metric.full_name + suffix for metric in METRICS for suffix in USED_AS.get(metric.kind, ())}
    assert len({panel["title"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in dashboard["panels"]:
        assert panel["type"] in ("timeseries", "stat", "table")
        assert panel["fieldConfig"]["defaults"]["unit"]
        for target in panel["targets"]:
            assert set(NAME.findall(target["expr"])) <= known, panel["title"]


@pytest.mark.req("O4")
def test_a_real_prometheus_scrapes_a_server_and_evaluates_everything(tmp_path: Path) -> None:
    with served(tmp_path / "data") as network:
        target = (network.data / "metrics-url").read_text().removeprefix("http://").partition("/")[0]
        with scraping(target, tmp_path / "prometheus") as prometheus:
            network.register(BUYER, SELLER)
            with network.client(BUYER) as buyer, network.client(SELLER) as seller:
                eventually(prometheus.is_ready)
                buyer.post(to=SELLER, document="an order")
                seller.acknowledge(*seller.poll(1, wait_s=10))
            eventually(lambda: prometheus.query('sum(postroad_deliveries_ended_total{state="delivered"}) > 0'))
            _evaluates_everything(prometheus)


def _evaluates_everything(prometheus: Prometheus) -> None:
    """Prometheus understands every expression, and has every metric of a network of one node."""
    for text in (*expressions(), *(rule.expression for rule in RULES)):
        prometheus.query(text)
    eventually(lambda: all(rule["health"] == "ok" for rule in _rules(prometheus)))
    assert {rule["name"] for rule in _rules(prometheus)} == {rule.name for rule in RULES}
    stored = set(prometheus.ask("label/__name__/values"))
    absent = {
        metric.full_name
        for metric in METRICS
        if metric.kind is not MetricKind.HISTOGRAM and metric.name not in ELSEWHERE | {"top_waiting_deliveries"}
    } - stored
    assert absent == set()


def _rules(prometheus: Prometheus) -> list[dict[str, str]]:
    return [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
