"""What a run leaves: a table on the screen, a JSON file with every round, and the tables of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.results import MAX_FOREIGN_CORES, Figures, Row, Verdict
from benchmarks.scenarios import BY_NAME

ROOT = Path(__file__).parent.parent
LATEST = ROOT / "benchmarks" / "results" / "latest.json"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
BEGIN, END = "<!-- results: written by `python -m benchmarks`, do not edit -->", "<!-- end of results -->"

HEADINGS = (
    "scenario",
    "side",
    "msg/s",
    "CPU µs",
    "post p50 ms",
    "post p99 ms",
    "end to end p50 ms",
    "end to end p99 ms",
)
TEXT_COLUMNS = 2  # the first ones; the others are numbers


class Run(msgspec.Struct, frozen=True, kw_only=True):
    command: str
    date: str
    machine: dict[str, str]
    rounds: int
    seconds_a_round: float
    rows: list[Row]
    failures: dict[str, str]  # scenarios that did not come to their end, and why
    texts: dict[str, str]  # what the small benchmarks printed


def _ms(value: float) -> str:
    return f"{value:.3g}" if value else ""


def _side(first: str, name: str, figures: Figures) -> list[str]:
    times = (figures.post_p50_ms, figures.post_p99_ms, figures.end_to_end_p50_ms, figures.end_to_end_p99_ms)
    return [first, name, f"{figures.messages_per_s:,.0f}", f"{figures.cpu_us:.1f}", *map(_ms, times)]


def _ratio(value: float | None, verdict: Verdict | None = None) -> str:
    """``2.10×``, with the floor and whether it holds where there is one: ``2.10× ✓ (≥ 1.3)``."""
    if value is None:
        return ""
    if verdict is None:
        return f"{value:.2f}×"
    return f"{value:.2f}× {'✓' if verdict.holds else '✗'} ({'≤' if verdict.at_most else '≥'} {verdict.floor:g})"


def lines_of(row: Row) -> list[list[str]]:
    """The table's lines for one scenario, the same on the screen and in the documentation: ours, the peer's, the ratio."""
    lines = [_side(BY_NAME[row.scenario].title, "postroad", row.ours)]
    if row.peer is not None and row.ratios is not None:
        floors = {verdict.what: verdict for verdict in row.verdicts}
        lines.append(_side("", "RabbitMQ", row.peer))
        lines.append(
            [
                "",
                "ratio",
                _ratio(row.ratios.messages, floors.get("messages")),
                _ratio(row.ratios.per_cpu, floors.get("per CPU")),
                "",
                _ratio(row.ratios.post_p99),
                "",
                _ratio(row.ratios.end_to_end_p99, floors.get("end-to-end p99")),
            ]
        )
    return lines


def grouped(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for heading, group in groupby(rows, key=lambda row: BY_NAME[row.scenario].group):
        yield heading, list(group)


def disturbed(rows: Sequence[Row]) -> str:
    """A warning when other work ran on the machine meanwhile; empty when it was quiet."""
    sides = [side for row in rows for side in (row.ours, row.peer) if side is not None]
    most = max((side.foreign_cores for side in sides), default=0.0)
    if most <= MAX_FOREIGN_CORES:
        return ""
    return f"Other work used up to {most:.1f} cores meanwhile: rates and latencies say nothing, CPU figures little."


def print_tables(run: Run, console: Console) -> None:
    for heading, rows in grouped(run.rows):
        table = Table(title=heading, title_justify="left")
        for number, name in enumerate(HEADINGS):
            table.add_column(name, justify="left" if number < TEXT_COLUMNS else "right")
        for row in rows:
            missed = any(not verdict.holds for verdict in row.verdicts)
            for line in lines_of(row):
                table.add_row(
                    *line, style="red" if missed and line[1] == "ratio" else None, end_section=line[1] == "ratio"
                )
        console.print(table)
    for title, text in run.texts.items():
        console.print(f"\n{title}\n{text}", highlight=False, markup=False)
    for name, reason in run.failures.items():
        console.print(f"{name} failed: {reason}", style="red", markup=False)
    if warning := disturbed(run.rows):
        console.print(warning, style="yellow")


def write_json(run: Run) -> None:
    LATEST.parent.mkdir(exist_ok=True)
    LATEST.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1))


def markdown(run: Run) -> str:
    facts = {"Command": f"`{run.command}`", "Date": run.date, **run.machine}
    facts["Rounds"] = f"{run.rounds} of {run.seconds_a_round:g} s for each side, taking turns; figures are medians"
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    lines += [f"- **Failed**: {', '.join(run.failures)}"] if run.failures else []
    lines += [f"- **Disturbed.** {warning}"] if (warning := disturbed(run.rows)) else []
    for heading, rows in grouped(run.rows):
        lines += ["", f"### {heading}", "", "| " + " | ".join(HEADINGS) + " |"]
        lines += ["|" + "---|" * TEXT_COLUMNS + "--:|" * (len(HEADINGS) - TEXT_COLUMNS)]
        lines += ["| " + " | ".join(line) + " |" for row in rows for line in lines_of(row)]
    for name, text in run.texts.items():
        lines += ["", f"### {name}", "", "```", text.rstrip(), "```"]
    return "\n".join(lines)


def publish(run: Run, page: Path = PAGE) -> None:
    """Put the tables into the documentation, between the marks that stand there."""
    text = page.read_text()
    fresh, found = re.subn(
        f"{re.escape(BEGIN)}.*?{re.escape(END)}",
        lambda _: f"{BEGIN}\n{markdown(run)}\n{END}",
        text,
        count=1,
        flags=re.DOTALL,
    )
    if not found:
        raise ValueError(f"{page.name} has no place for the results: put the lines {BEGIN} and {END} into it")
    page.write_text(fresh)
