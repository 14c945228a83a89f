"""The command ``postroad doctor``: check everything that a network needs on this machine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from postroad.bootstrap.settings import Settings
from postroad.cli.commands.operate.health_checks import check_all
from postroad.cli.commands.operate.live_alerts import AlertState, evaluate_alerts
from postroad.cli.framework.command import command
from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.cli.framework.settings import gather_settings
from postroad.cli.views.settings import settings_rows

COLOURS = {"ok": "green", "warning": "yellow", "fault": "red"}


@command
@click.option(
    "--settings", "only_settings", is_flag=True, help="List every setting, its value and where it comes from."
)
@click.option(
    "--live", is_flag=True, help="List the alerts that would fire now in the running network, with their runbooks."
)
@click.option(
    "--seconds",
    type=click.FloatRange(0.5, 3_600),
    default=2.0,
    show_default=True,
    help="With --live: time between two readings.",
)
@click.option("--config", type=click.Path(path_type=Path), help="Settings in TOML.")
@click.option("--data", default="", help="Folder of journal, index and keys.", metavar="FOLDER")
@click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="Change one setting; repeatable.")
def doctor(
    out: Output,
    only_settings: bool,
    live: bool,
    seconds: float,
    config: Path | None,
    data: str,
    changes: tuple[str, ...],
) -> None:
    """Check this machine and its settings, or a running network.

    Exit code 1 when something would prevent a network from running, or when an alert would fire.
    """
    settings = gather_settings(config, data, changes)
    if only_settings:
        _list_settings(out, settings, config, data, changes)
    elif live:
        _check_live(out, settings, seconds)
    else:
        _check(out, settings)


def _check(out: Output, settings: Settings) -> None:
    findings = check_all(settings)
    out.value([finding._asdict() for finding in findings])
    for finding in findings:
        mark = click.style(f"{finding.state:<8}", fg=COLOURS[finding.state])
        out.print(f"{mark}{finding.what}: {finding.detail}")
    if any(finding.state == "fault" for finding in findings):
        sys.exit(ExitCode.ERROR)


def _check_live(out: Output, settings: Settings, seconds: float) -> None:
    states = evaluate_alerts(settings, seconds)
    out.value([state._asdict() for state in states])
    fires = [one for one in states if one.state == "fires"]
    for one in fires:
        out.print(f"{click.style(one.alert, fg='red')} ({one.severity}, sent after {one.fires_after}): {one.summary}")
        out.print(f"  {one.runbook}")
    quiet = [one for one in states if one.state == "quiet"]
    out.print(f"{_count_alerts(fires)} would fire, {len(quiet)} {'is' if len(quiet) == 1 else 'are'} quiet")
    unknown: dict[str, list[str]] = {}
    for one in states:
        if one.state == "unknown":
            unknown.setdefault(one.needs, []).append(one.alert)
    for needs, alerts in unknown.items():
        out.print(f"not evaluated, for lack of {needs}: {', '.join(alerts)}")
    if fires:
        sys.exit(ExitCode.ERROR)


def _count_alerts(states: Sequence[AlertState]) -> str:
    return f"{len(states)} alert{'' if len(states) == 1 else 's'}"


def _list_settings(out: Output, settings: Settings, config: Path | None, data: str, changes: tuple[str, ...]) -> None:
    rows = settings_rows(settings, config, data, changes)
    out.value([row._asdict() for row in rows])
    out.table(("setting", "value", "from"), ((row.name, row.value, row.origin) for row in rows))
