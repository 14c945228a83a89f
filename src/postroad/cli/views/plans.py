"""A configuration plan on the terminal: + for added, ~ for changed and - for removed objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from rich.text import Text

from postroad.cli.framework.output import strip_controls
from postroad.core.resources.configuration import FieldView, PlanView, StepView

MAX_SHOWN = 200
SIGNS = {"add": ("+", "green"), "change": ("~", "yellow"), "remove": ("-", "red")}


def plan_lines(plan: PlanView) -> Iterator[Text]:
    if not plan.steps:
        yield Text("Nothing to change: the network matches the files.")
        return
    for step in plan.steps:
        yield from _step_lines(step)
    for warning in plan.warnings:
        yield Text(strip_controls(f"warning: {warning.pointer}: {warning.detail}"), style="bold yellow")
    counts = {action: sum(step.action == action for step in plan.steps) for action in SIGNS}
    yield Text(f"{counts['add']} to add, {counts['change']} to change, {counts['remove']} to remove.")


def _step_lines(step: StepView) -> Iterator[Text]:
    sign, colour = SIGNS[step.action]
    yield Text(f"{sign} {step.kind} {step.name}", style=colour)
    for change in step.fields:
        yield _field_line(step.action, change)


def _field_line(action: str, change: FieldView) -> Text:
    line = Text(f"    {change.field}: ")
    if action == "change":
        line.append(_short(change.before), "red").append(" → ")
    line.append(_short(change.after), "green")
    return line.append("  (reset: not in the file)", "bold yellow") if change.resets else line


def _short(value: Any) -> str:
    """Return the value on one line, so that no text can look like a step of the plan."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    line = strip_controls(text.rstrip("\n").replace("\n", "⏎"))
    return line if len(line) <= MAX_SHOWN else line[: MAX_SHOWN - 1] + "…"
