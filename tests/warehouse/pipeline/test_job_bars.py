"""Bars of jobs: one for the job, one for each stage at work, and none where nobody looks."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console
from rich.progress import Progress

from postroad.cli.job_bars import _StageBars, job_bar
from postroad.cli.output import Output
from postroad.warehouse.progress import Stage


def shown(bars: Progress) -> list[tuple[str, float, float | None]]:
    return [(task.description.strip(), task.completed, task.total) for task in bars.tasks]


def test_stages_come_advance_and_go() -> None:
    bars = Progress(console=Console(file=io.StringIO()))
    stages = _StageBars(bars)
    stages.show([Stage("reading", 4, 1), Stage("writing", 2, 0)])
    assert shown(bars) == [("1. reading", 1, 4), ("2. writing", 0, 2)]
    stages.show([Stage("reading", 4, 3)])
    assert shown(bars) == [("1. reading", 3, 4)]
    stages.show([])
    assert shown(bars) == []


@pytest.mark.parametrize("as_json", [True, False])
def test_without_a_terminal_nothing_is_drawn_and_spark_is_not_asked(
    capfd: pytest.CaptureFixture[str], as_json: bool
) -> None:
    unasked: Any = None
    with job_bar(Output(as_json), unasked, "landing", 10) as advance:
        advance(5)
    assert capfd.readouterr() == ("", "")
