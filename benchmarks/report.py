"""What a run leaves: a table on the screen, a JSON file with every round, and the tables of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.results import FOREIGN_CORES_MOST, Figures, Row, Verdict
from benchmarks.scenarios import BY_NAME

ROOT = Path(__file__).parent.parent
LATEST = ROOT / "benchmarks" / "results" / "latest.json"
PAGE = ROOT / "docs" / "explanation" / "performance.md"
BEGIN, END = "<!-- results: written by `python -m benchmarks`, do not edit -->", "<!-- end of results -->"

HEADINGS = (
    "scenario", "msg/s", "RabbitMQ", "×", "CPU µs", "RabbitMQ", "× per CPU",
    "post p50/p99 ms", "RabbitMQ", "end to end p50/p99 ms", "RabbitMQ", "× p99", "floors",
)  # fmt: skip


class Run(msgspec.Struct, frozen=True, kw_only=True):
    command: str
    date: str
    machine: dict[str, str]
    rounds: int
    seconds_a_round: float
    rows: list[Row]
    texts: dict[str, str]  # what the small benchmarks printed


def _latency(figures: Figures | None, which: str) -> str:
    if figures is None:
        return ""
    middle, high = getattr(figures, f"{which}_p50_ms"), getattr(figures, f"{which}_p99_ms")
    return f"{middle:.2g} / {high:.3g}" if high else ""


def _ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _verdict(verdict: Verdict) -> str:
    sign = "≤" if verdict.at_most else "≥"
    return f"{'✓' if verdict.holds else '✗'} {verdict.what} {sign} {verdict.floor:g}"


def cells(row: Row) -> list[str]:
    """One row of the table, the same on the screen and in the documentation."""
    ours, peer, ratios = row.ours, row.peer, row.ratios
    return [
        BY_NAME[row.scenario].title,
        f"{ours.messages_per_s:,.0f}",
        f"{peer.messages_per_s:,.0f}" if peer else "",
        _ratio(ratios.messages if ratios else None),
        f"{ours.cpu_us:.1f}",
        f"{peer.cpu_us:.1f}" if peer else "",
        _ratio(ratios.per_cpu if ratios else None),
        _latency(ours, "post"),
        _latency(peer, "post"),
        _latency(ours, "end_to_end"),
        _latency(peer, "end_to_end"),
        _ratio(ratios.end_to_end_p99 if ratios else None),
        ", ".join(_verdict(verdict) for verdict in row.verdicts),
    ]


def grouped(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for heading, group in groupby(rows, key=lambda row: BY_NAME[row.scenario].group):
        yield heading, list(group)


def disturbed(rows: Sequence[Row]) -> str:
    """A warning when other work ran on the machine meanwhile; empty when it was quiet."""
    most = max((row.ours.foreign_cores for row in rows), default=0.0)
    if most <= FOREIGN_CORES_MOST:
        return ""
    return (
        f"Other work used up to {most:.1f} cores meanwhile: rates and latencies are not to be trusted, CPU figures are."
    )


def print_tables(run: Run, console: Console) -> None:
    for heading, rows in grouped(run.rows):
        table = Table(title=heading, title_justify="left")
        for number, name in enumerate(HEADINGS):
            table.add_column(name, justify="left" if number in (0, len(HEADINGS) - 1) else "right")
        for row in rows:
            table.add_row(*cells(row), style="red" if any(not verdict.holds for verdict in row.verdicts) else None)
        console.print(table)
    if warning := disturbed(run.rows):
        console.print(warning, style="yellow")


def write_json(run: Run) -> None:
    LATEST.parent.mkdir(exist_ok=True)
    LATEST.write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1))


def markdown(run: Run) -> str:
    facts = {"Command": f"`{run.command}`", "Date": run.date, **run.machine}
    facts["Rounds"] = f"{run.rounds} of {run.seconds_a_round:g} s for each side, taking turns; figures are medians"
    lines = [f"- {name}: {value}" for name, value in facts.items()]
    lines += [f"- **Disturbed.** {warning}"] if (warning := disturbed(run.rows)) else []
    for heading, rows in grouped(run.rows):
        lines += ["", f"### {heading}", "", "| " + " | ".join(HEADINGS) + " |"]
        lines += ["|---|" + "--:|" * (len(HEADINGS) - 2) + "---|"]
        lines += ["| " + " | ".join(cells(row)) + " |" for row in rows]
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
