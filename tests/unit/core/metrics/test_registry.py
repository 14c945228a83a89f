"""Instruments exist as declared, within bounds; pages in both formats hold every number."""

from __future__ import annotations

import re

import pytest

from postroad.core.metrics.declaration import OTHER, Label, Metric, MetricKind
from postroad.core.metrics.exposition import accepts_open_metrics, write_open_metrics, write_text
from postroad.core.metrics.registry import Metrics
from postroad.core.metrics.table import METRICS

TABLE = (
    Metric("tries_total", MetricKind.COUNTER, "Tries.", (Label("result", ("ok", "no", OTHER)),)),
    Metric("codes_total", MetricKind.COUNTER, "Codes.", (Label("code", most=2),)),
    Metric("level", MetricKind.GAUGE, "A level."),
    Metric("took_seconds", MetricKind.HISTOGRAM, "A time.", (), (0.5, 1.0)),
    Metric("build_info", MetricKind.INFO, "The build.", (Label("version", most=1),)),
    Metric("unused_total", MetricKind.COUNTER, "Not used."),
)


def used() -> Metrics:
    metrics = Metrics(TABLE)
    metrics.counter("tries_total", "ok").value += 3
    metrics.gauge("level").set(1.5)
    for seconds in (0.1, 0.5, 0.7, 9.0):
        metrics.histogram("took_seconds").observe(seconds)
    metrics.inform("build_info", 'a"b\\c\n')
    return metrics


TEXT = """\
# HELP postroad_tries_total Tries.
# TYPE postroad_tries_total counter
postroad_tries_total{result="ok"} 3
postroad_tries_total{result="no"} 0
postroad_tries_total{result="other"} 0
# HELP postroad_level A level.
# TYPE postroad_level gauge
postroad_level 1.5
# HELP postroad_took_seconds A time.
# TYPE postroad_took_seconds histogram
postroad_took_seconds_bucket{le="0.5"} 2
postroad_took_seconds_bucket{le="1.0"} 3
postroad_took_seconds_bucket{le="+Inf"} 4
postroad_took_seconds_sum 10.3
postroad_took_seconds_count 4
# HELP postroad_build_info The build.
# TYPE postroad_build_info gauge
postroad_build_info{version="a\\"b\\\\c\\n"} 1
"""


def test_the_text_format_has_every_number_and_escapes_values() -> None:
    assert write_text(used().families()) == TEXT


def test_open_metrics_names_counters_and_infos_without_their_suffix() -> None:
    page = write_open_metrics(used().families())
    assert page.endswith('postroad_build_info{version="a\\"b\\\\c\\n"} 1\n# EOF\n')
    assert '# TYPE postroad_tries counter\npostroad_tries_total{result="ok"} 3\n' in page
    assert "# TYPE postroad_build info\n" in page


def test_values_outside_the_list_are_counted_as_others() -> None:
    metrics = Metrics(TABLE)
    metrics.counter("tries_total", "a surprise").add(2)
    metrics.counter("tries_total", "another").add()
    assert metrics.value("tries_total", OTHER) == 3


def test_open_labels_keep_a_bounded_number_of_values() -> None:
    metrics = Metrics(TABLE)
    for number in range(1_000):
        metrics.counter("codes_total", f"code.{number % 500}").add()
    [(_, instruments)] = metrics.families()
    assert {values: one.value for values, one in instruments.items() if not hasattr(one, "counts")} == {
        ("code.0",): 2, ("code.1",): 2, (OTHER,): 996
    }  # fmt: skip
    assert len(metrics.counters("codes_total")._found) < 200


def test_gauges_of_changing_values_are_forgotten() -> None:
    metrics = Metrics((Metric("top", MetricKind.GAUGE, "Top.", (Label("service", most=5),)),))
    metrics.gauge("top", "a").set(1)
    metrics.gauges("top").forget()
    metrics.gauge("top", "b").set(2)
    assert [list(found) for _, found in metrics.families()] == [[("b",)]]


def test_the_same_instrument_is_returned_each_time() -> None:
    metrics = Metrics(TABLE)
    assert metrics.counter("tries_total", "ok") is metrics.counter("tries_total", "ok")
    assert metrics.value("unused_total") == 0
    metrics.histogram("took_seconds").observe(1)
    assert metrics.value("took_seconds") == 1


def test_an_update_that_fails_is_counted_and_harms_no_other() -> None:
    metrics = Metrics()
    metrics.on_read(lambda: metrics.gauge("connections").set(1 / 0))
    metrics.on_read(lambda: metrics.gauge("dead_letters").set(3))
    page = write_text(metrics.read())
    assert "postroad_dead_letters 3\n" in page
    assert "postroad_scrape_errors_total 1\n" in page


def test_an_undeclared_metric_is_an_error_that_says_where_to_declare_it() -> None:
    with pytest.raises(KeyError, match=r"metric surprise_total is not declared; add it to core/metrics/table\.py"):
        Metrics(TABLE).counter("surprise_total")
    with pytest.raises(TypeError, match="metric level is a gauge, not a counter"):
        Metrics(TABLE).counter("level")
    with pytest.raises(ValueError, match="metric tries_total has the labels: result; it was given"):
        Metrics(TABLE).counter("tries_total")


@pytest.mark.parametrize(
    ("accept", "is_open"),
    [
        ("", False),
        ("text/plain", False),
        ("*/*", False),
        ("application/openmetrics-text", True),
        ("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", True),
        ("application/openmetrics-text;q=0.5,text/plain;q=0.8", False),
        ("application/openmetrics-text;q=0", False),
        ("application/openmetrics-text;q=many", False),
    ],
)
def test_the_format_follows_the_accept_header(accept: str, is_open: bool) -> None:
    assert accepts_open_metrics(accept) is is_open


# --- the table ------------------------------------------------------------------------------------------------------


def test_names_are_unique_and_as_prometheus_wants_them() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    for metric in METRICS:
        assert re.fullmatch(r"[a-z][a-z0-9_]*", metric.name), metric.name
        assert metric.name.endswith("_total") == (metric.kind is MetricKind.COUNTER), metric.name
        assert metric.name.endswith("_info") == (metric.kind is MetricKind.INFO), metric.name
        assert not re.search(r"_(ms|us|minutes|hours|mb|kb|percent)(_|$)", metric.name), metric.name


def test_every_label_is_bounded() -> None:
    for metric in METRICS:
        for label in metric.labels:
            assert label.values or 0 < label.most <= 1_000, f"{metric.name}: {label.name}"
            assert label.name != "service" or metric.name.startswith("top_"), metric.name
            assert label.name not in ("le", "quantile", "job", "instance"), metric.name


def test_histograms_have_rising_bounds_and_others_have_none() -> None:
    for metric in METRICS:
        assert bool(metric.buckets) == (metric.kind is MetricKind.HISTOGRAM), metric.name
        assert list(metric.buckets) == sorted(set(metric.buckets)), metric.name


def test_every_help_is_one_sentence() -> None:
    for metric in METRICS:
        assert re.fullmatch(r"[A-Z0-9].*\.", metric.help), metric.name
