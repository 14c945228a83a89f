"""The alerts that would fire now, from the metrics page of a running network: ``postroad doctor --live``.

Rule: the conditions are those of the rules for Prometheus. Growth is measured between two readings some seconds apart; an alert
that needs a longer history is reported as unknown, with what it needs.
"""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

from postroad.bootstrap.settings import Settings
from postroad.cli.framework.connection import METRICS_URL_FILE
from postroad.core.metrics.alerts import ALERTS, Alert, runbook_path
from postroad.core.metrics.readings import MetricReadings, Series, parse_page
from postroad.errors import Misconfigured

ANSWER_S = 10.0
DOWN = "PostroadDown"


class AlertState(NamedTuple):
    """An alert, and whether its condition is true now."""

    alert: str
    state: Literal["fires", "quiet", "unknown"]
    severity: str
    summary: str
    runbook: str
    fires_after: str
    needs: str = ""  # for "unknown": the history that is missing


class PageUnreadable(Exception):
    """The network's metrics page does not answer, or answers with something else."""


def evaluate_alerts(
    settings: Settings, seconds: float, pause: Callable[[float], None] = time.sleep
) -> list[AlertState]:
    """Read the metrics page twice and return the state of every alert."""
    url, token = find_metrics_url(settings), _token(settings)
    try:
        if not url:
            raise PageUnreadable
        before = _read(url, token)
        pause(seconds)
        readings = MetricReadings(before, _read(url, token), seconds, time.time())
    except PageUnreadable:
        return [_state(alert, fires=True if alert.name == DOWN else None, needs="a metrics page") for alert in ALERTS]
    return [_state(alert, fires=_is_true(alert, readings), needs=alert.history) for alert in ALERTS]


def find_metrics_url(settings: Settings) -> str:
    """Return the address of the metrics page; empty if the network is stopped. Raises Misconfigured if there is no network."""
    if not settings.metrics_listen:
        raise Misconfigured(
            ["metrics_listen: is empty, so there is no metrics page; set it to 127.0.0.1:0, and restart"]
        )
    file = settings.data / METRICS_URL_FILE
    if file.exists():
        return file.read_text().strip()
    if not settings.metrics_listen.endswith(":0"):
        return f"http://{settings.metrics_listen}/metrics"
    if not settings.data.exists():
        raise Misconfigured([f"data: there is no network in {settings.data}; name its folder with --data"])
    return ""


def _read(url: str, token: str) -> dict[Series, float]:
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})  # noqa: S310 - our own address
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_S) as answer:  # noqa: S310
            return parse_page(answer.read().decode())
    except urllib.error.HTTPError as refused:
        if refused.code == 401:
            raise Misconfigured(
                ["metrics_token_file: the page refuses this token; use the file of the server"]
            ) from refused
        raise PageUnreadable from refused
    except (OSError, ValueError) as error:
        raise PageUnreadable from error


def _token(settings: Settings) -> str:
    if not settings.metrics_token_file:
        return ""
    try:
        return Path(settings.metrics_token_file).expanduser().read_text().strip()
    except OSError as error:
        raise Misconfigured([f"metrics_token_file: cannot be read: {error}"]) from error


def _is_true(alert: Alert, readings: MetricReadings) -> bool | None:
    return alert.live(readings) if alert.live is not None else None


def _state(alert: Alert, *, fires: bool | None, needs: str) -> AlertState:
    return AlertState(
        alert=alert.name,
        state="unknown" if fires is None else "fires" if fires else "quiet",
        severity=alert.severity,
        summary=alert.summary,
        runbook=runbook_path(alert.name),
        fires_after=alert.hold,
        needs=needs if fires is None else "",
    )
