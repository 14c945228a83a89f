"""Every alert fires and is quiet as its cases say, without Prometheus as with it, and has a page."""

from __future__ import annotations

import re

import pytest

from postroad.core.metrics.alerts import ALERTS, RECORDINGS, Alert, Recording
from postroad.core.metrics.declaration import MetricKind
from postroad.core.metrics.readings import MetricReadings, Series, parse_page
from postroad.core.metrics.table import METRICS
from scripts.alert_rules import CASES, AlertCase

LIVE = [alert for alert in ALERTS if alert.live is not None and alert.name != "PostroadDown"]
RULES: tuple[Alert | Recording, ...] = (*ALERTS, *RECORDINGS)
NAME = re.compile(r"\b(?:postroad|process)_[a-z_]+")
LABELS = re.compile(r"(\b(?:postroad|process)_[a-z_]+)\{([^}]*)\}")


def page_at(series: dict[str, tuple[float, float]], minute: float) -> dict[Series, float]:
    return parse_page("".join(f"{name} {first + growth * minute}\n" for name, (first, growth) in series.items()))


def readings(series: dict[str, tuple[float, float]]) -> MetricReadings:
    """Two pages a minute apart, at the end of an hour."""
    return MetricReadings(page_at(series, 60), page_at(series, 61), 60.0, 61 * 60.0)


def cases_of(alert: Alert) -> AlertCase:
    [case] = [case for case in CASES if case.alert == alert.name]
    return case


@pytest.mark.parametrize("alert", LIVE, ids=lambda alert: alert.name)
def test_a_live_condition_agrees_with_the_rule(alert: Alert) -> None:
    case = cases_of(alert)
    assert alert.live is not None
    assert alert.live(readings(case.fires)) is True
    assert alert.live(readings(case.quiet)) is False


def test_each_alert_has_one_case_and_each_case_an_alert() -> None:
    assert [case.alert for case in CASES] == [alert.name for alert in ALERTS]
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)


def test_an_alert_is_evaluated_live_or_says_why_not() -> None:
    assert [alert.name for alert in ALERTS if (alert.live is None) != bool(alert.history)] == []


def test_expressions_name_declared_metrics_and_labels() -> None:
    metrics = {metric.full_name: metric for metric in METRICS}
    recorded = {one.name.partition(":")[0] for one in RECORDINGS}
    for rule in RULES:
        for name in NAME.findall(rule.expression):
            base = re.sub(r"_(bucket|count|sum)$", "", name)
            assert name in metrics or metrics[base].kind is MetricKind.HISTOGRAM or name in recorded, name
        for name, matchers in LABELS.findall(rule.expression):
            metric = metrics[name if name in metrics else re.sub(r"_(bucket|count|sum)$", "", name)]
            values = {label.name: label.values for label in metric.labels}
            for label, value in re.findall(r'(\w+)!?="([^"]*)"', matchers):
                known = [repr(bound) for bound in metric.buckets] if label == "le" else values[label]
                assert value in known, f"{rule.name}: {name} {label}={value}"


def test_a_page_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not a sample: <html>"):
        parse_page("<html>\n")


def test_readings_sum_select_and_compare() -> None:
    before = parse_page('a_total{x="1"} 2\na_total{x="2"} 5\n')
    after = parse_page('# HELP a_total A.\na_total{x="1"} 4\na_total{x="2"} 5\nb{y="q\\"}"} +Inf\n')
    page = MetricReadings(before, after, 10.0, 0.0)
    assert (page.value("a_total"), page.value("a_total", x="1"), page.increase("a_total")) == (9, 4, 2)
    assert page.all_of("b") == [float("inf")]
    assert page.quantile(0.99, "absent") == 0.0
