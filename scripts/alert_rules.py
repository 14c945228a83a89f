"""The rules of Prometheus and their tests, written from the table of alerts: deploy/prometheus/postroad.rules.yml and .test.yml.

Every alert has one case in which it fires and one in which it does not. promtool runs them; test_alerts.py of the unit tests
applies the same series to the live conditions of ``postroad doctor --live``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import yaml

from postroad.core.metrics.alerts import ALERTS, RECORDINGS, Alert, runbook_path

NOTE = "# Written by `python -m scripts.reference_pages` from core/metrics/alerts.py; change the table instead.\n"
RULES_FILE = "postroad.rules.yml"
NODE = {"job": "postroad", "instance": "a:9470"}
NETWORK = {"job": "postroad"}
# The operator's address of docs/runbooks, as an external label of Prometheus; without it, the path in the repository.
RUNBOOKS = "{{ with $externalLabels.runbooks }}{{ . }}{{ else }}%s{{ end }}"
EXTERNAL = {"runbooks": "https://wiki.example/postroad/runbooks"}  # in the tests of the rules
MINUTES = 75  # of every series: some alerts must be true for an hour


class AlertCase(NamedTuple):
    """Series that fire an alert, and series that do not: by name and labels, their first value and growth per minute."""

    alert: str
    fires: dict[str, tuple[float, float]]
    quiet: dict[str, tuple[float, float]]
    labels: dict[str, str] = NODE


def _buckets(metric: str, within: str, beyond: str, share: float, labels: str = "") -> dict[str, tuple[float, float]]:
    """Return the series of a histogram of which this share of 1,000 observations a minute is above ``within``."""
    more = f",{labels}" if labels else ""
    return {
        f'{metric}_bucket{{le="{within}"{more}}}': (0, 1_000 * (1 - share)),
        f'{metric}_bucket{{le="{beyond}"{more}}}': (0, 1_000),
        f'{metric}_bucket{{le="+Inf"{more}}}': (0, 1_000),
        f"{metric}_count{{{labels}}}": (0, 1_000),
    }


def _posts(unavailable: float) -> dict[str, tuple[float, float]]:
    return {
        'postroad_posts_total{outcome="accepted",form="json"}': (0, 1_000 - unavailable),
        'postroad_posts_total{outcome="unavailable",form="json"}': (0, unavailable),
    }


def _level(metric: str, loud: float, quiet: float, **others: float) -> tuple[Any, Any]:
    more = {name: (value, 0.0) for name, value in others.items()}
    return {metric: (loud, 0.0), **more}, {metric: (quiet, 0.0), **more}


HOUR_S, DAY_S = 3_600, 86_400
EXPIRES = 'postroad_certificate_expires_timestamp_seconds{what="%s"}'
WAITING = 'postroad_notifications_waiting{channel="%s"}'
SENT = 'postroad_notifications_total{channel="%s",result="sent"}'
PUSHED = 'postroad_push_attempts_total{result="%s"}'

CASES: tuple[AlertCase, ...] = (
    AlertCase("PostroadDown", *_level("up", 0, 1)),
    AlertCase("PostroadRefusesPosts", _posts(3), _posts(0)),
    AlertCase("PostroadDiskLow", *_level("postroad_disk_free_bytes", 1.9e9, 3e9, postroad_disk_least_free_bytes=1e9)),
    AlertCase(
        "PostroadDiskFilling",
        {"postroad_disk_free_bytes": (1e11, -1e8), "postroad_disk_least_free_bytes": (1e9, 0)},
        {"postroad_disk_free_bytes": (1e11, -1e6), "postroad_disk_least_free_bytes": (1e9, 0)},
    ),
    AlertCase(
        "PostroadSyncSlow",
        _buckets("postroad_journal_sync_seconds", "0.1", "0.25", 0.05),
        _buckets("postroad_journal_sync_seconds", "0.1", "0.25", 0.005),
    ),
    AlertCase(
        "PostroadJournalBacklog",
        *_level("postroad_journal_waiting_bytes", 40e6, 30e6, postroad_journal_waiting_limit_bytes=64e6),
    ),
    AlertCase("PostroadIndexBehind", *_level("postroad_index_behind_seconds", 31, 29)),
    AlertCase("PostroadDeliveriesOld", *_level("postroad_oldest_waiting_seconds", 3_700, 3_500, postroad_long_polls=1)),
    AlertCase("PostroadEndsLate", *_level("postroad_ends_late_seconds", 61, 59), labels=NETWORK),
    AlertCase(
        "PostroadDeadLetters",
        {'postroad_dead_letters_total{cause="push"}': (0, 2)},
        {'postroad_dead_letters_total{cause="push"}': (0, 1)},
        NETWORK,
    ),
    AlertCase(
        "PostroadPushFailing",
        {PUSHED % "ok": (0, 3), PUSHED % "timeout": (0, 5)},
        {PUSHED % "ok": (0, 5), PUSHED % "timeout": (0, 3)},
        NETWORK,
    ),
    AlertCase("PostroadNoLeader", *_level("postroad_leader", 0, 1), labels=NETWORK),
    AlertCase("PostroadBatchStuck", *_level("postroad_oldest_open_batch_seconds", 3 * DAY_S, DAY_S), labels=NETWORK),
    AlertCase("PostroadBatchSuspended", *_level('postroad_batches{state="suspended"}', 1, 0), labels=NETWORK),
    AlertCase(
        "PostroadCertificateSoon", *_level(EXPIRES % "server", 10 * DAY_S, 20 * DAY_S), labels=NODE | {"what": "server"}
    ),
    AlertCase(
        "PostroadCertificateNow",
        *_level(EXPIRES % "server", DAY_S, 10 * DAY_S, **{EXPIRES % "credential": DAY_S}),
        labels=NODE | {"what": "server"},
    ),
    AlertCase(
        "PostroadLoopLag",
        _buckets("postroad_loop_lag_seconds", "0.5", "1.0", 0.05),
        _buckets("postroad_loop_lag_seconds", "0.5", "1.0", 0.005),
    ),
    AlertCase("PostroadFilesLow", *_level("process_open_fds", 900, 700, process_max_fds=1_000)),
    AlertCase(
        "PostroadPostgresUnavailable",
        {"postroad_postgres_unavailable_total": (0, 1)},
        {"postroad_postgres_unavailable_total": (7, 0)},
    ),
    AlertCase("PostroadDirectoryOld", *_level("postroad_directory_age_seconds", 31, 2)),
    AlertCase(
        "PostroadGuessing",
        {'postroad_authentication_failures_total{kind="key"}': (0, 40)},
        {'postroad_authentication_failures_total{kind="key"}': (0, 20)},
        NETWORK,
    ),
    AlertCase(
        "PostroadEngineKills",
        {'postroad_engine_kills_total{engine="saxon",cause="deadline"}': (0, 2)},
        {'postroad_engine_kills_total{engine="saxon",cause="deadline"}': (0, 0.1)},
        NETWORK | {"engine": "saxon"},
    ),
    AlertCase(
        "PostroadBackupOld", *_level("postroad_backup_last_success_timestamp_seconds", -27 * HOUR_S, -20 * HOUR_S)
    ),
    AlertCase(  # the first backup counts until one is verified
        "PostroadVerifyOld",
        {"postroad_backup_first_success_timestamp_seconds": (-9 * DAY_S, 0)},
        {
            "postroad_backup_first_success_timestamp_seconds": (-9 * DAY_S, 0),
            "postroad_verify_last_success_timestamp_seconds": (-7 * DAY_S, 0),
        },
    ),
    AlertCase(
        "PostroadNotificationsFailing",
        {WAITING % "email": (1, 0), WAITING % "slack": (0, 0), SENT % "email": (7, 0), SENT % "slack": (0, 1)},
        {WAITING % "email": (1, 0), WAITING % "slack": (0, 0), SENT % "email": (7, 1), SENT % "slack": (0, 0)},
        NETWORK | {"channel": "email"},
    ),
    AlertCase("PostroadSloAvailability", _posts(20), _posts(1), NETWORK),
    AlertCase(
        "PostroadSloPostLatency",
        _buckets("postroad_post_seconds", "0.1", "0.25", 0.2, 'bulk="no"'),
        _buckets("postroad_post_seconds", "0.1", "0.25", 0.01, 'bulk="no"'),
        NETWORK,
    ),
    AlertCase(
        "PostroadSloHandOut",
        _buckets("postroad_first_handout_seconds", "1.0", "2.5", 0.2, 'present="yes"'),
        _buckets("postroad_first_handout_seconds", "1.0", "2.5", 0.01, 'present="yes"'),
        NETWORK,
    ),
)


def render_rules() -> str:
    """Return the file with all rules."""
    recordings = [{"record": one.name, "expr": one.expression} for one in RECORDINGS]
    groups = [
        {"name": "postroad-objectives", "interval": "1m", "rules": recordings},
        {"name": "postroad-alerts", "rules": [_rule(alert) for alert in ALERTS]},
    ]
    return NOTE + _yaml({"groups": groups})


def render_tests() -> str:
    """Return the file with the tests of the rules."""
    tests = [_test(case, series, fires=series is case.fires) for case in CASES for series in (case.fires, case.quiet)]
    tests.append(_test(CASES[0], CASES[0].fires, fires=True, external={}))
    return NOTE + _yaml({"rule_files": [RULES_FILE], "evaluation_interval": "1m", "tests": tests})


def _rule(alert: Alert) -> dict[str, Any]:
    return {
        "alert": alert.name,
        "expr": alert.expression,
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": _annotations(alert),
    }


def _annotations(alert: Alert, base: str = "") -> dict[str, str]:
    """Return the annotations with the runbook below ``base``; by default, below the external label of Prometheus."""
    folder, _, page = runbook_path(alert.name).rpartition("/")
    return {"summary": alert.summary, "runbook_url": f"{base or RUNBOOKS % folder}/{page}"}


def _test(
    case: AlertCase,
    series: dict[str, tuple[float, float]],
    *,
    fires: bool,
    external: Mapping[str, str] = EXTERNAL,
) -> dict[str, Any]:
    alert = next(one for one in ALERTS if one.name == case.alert)
    annotations = _annotations(alert, external.get("runbooks") or runbook_path(alert.name).rpartition("/")[0])
    fired = [{"exp_labels": case.labels | {"severity": alert.severity}, "exp_annotations": annotations}]
    return {
        "name": f"{alert.name} {'fires' if fires else 'does not fire'}{'' if external else ' without external labels'}",
        "external_labels": dict(external),
        "interval": "1m",
        "input_series": [{"series": _of_node(name), "values": _values(*values)} for name, values in series.items()],
        "alert_rule_test": [
            {"eval_time": f"{MINUTES}m", "alertname": alert.name, "exp_alerts": fired if fires else []}
        ],
    }


def _of_node(series: str) -> str:
    name, _, labels = series.rstrip("}").partition("{")
    node = ",".join(f'{label}="{value}"' for label, value in NODE.items())
    return f"{name}{{{labels},{node}}}" if labels else f"{name}{{{node}}}"


def _values(first: float, growth: float) -> str:
    return f"{first:.10g}{growth:+.10g}x{MINUTES}"


class _Plain(yaml.SafeDumper):
    """Writes repeated values in full, without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _yaml(value: Any) -> str:
    return yaml.dump(value, Dumper=_Plain, sort_keys=False, width=1_000, allow_unicode=True)
