"""The command ``postroad simulate``: write the journal of a simulated network."""

from __future__ import annotations

import asyncio
from datetime import datetime
from pathlib import Path

import click

from postroad.bootstrap.stores import JOURNAL_FOLDER
from postroad.cli.framework.command import command
from postroad.cli.framework.output import Output
from postroad.errors import Misconfigured
from postroad.testing.traffic.generate import Generated, generate, max_incidents
from postroad.testing.traffic.plan import TrafficPlan


def number(text: str) -> int:
    """Parse a whole number, which may be written as 1e6."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if value < 1 or value != int(value):
        raise click.BadParameter(f"{text!r} is not a whole number above zero, such as 200 or 1e6")
    return int(value)


@command
@click.option("--out", "folder", type=click.Path(path_type=Path), required=True, help="Data folder to create.")
@click.option("--organizations", type=number, default=200, show_default=True, help="Number of organizations.")
@click.option("--days", type=number, default=30, show_default=True, help="Number of days to simulate.")
@click.option(
    "--messages",
    type=number,
    default=100_000,
    show_default=True,
    help="Number of requests and notifications; responses are additional.",
)
@click.option("--seed", type=int, default=7, show_default=True, help="Equal seeds give equal journals.")
@click.option(
    "--first-day",
    type=click.DateTime(["%Y-%m-%d"]),
    default="2026-10-01",
    show_default=True,
    help="Day of the first message (UTC).",
)
@click.option("--body-bytes", type=number, default=600, show_default=True, help="Typical length of a document.")
@click.option("--incidents", type=click.IntRange(0), default=0, help="Number of incident days at large organizations.")
def simulate(
    out: Output,
    folder: Path,
    organizations: int,
    days: int,
    messages: int,
    seed: int,
    first_day: datetime,
    body_bytes: int,
    incidents: int,
) -> None:
    """Write the journal of a simulated network, for tests, benchmarks and the warehouse.

    Requests, responses, failures, retries, expiries and late entries, day by day, in the journal's own format: every command that
    reads a data folder can be tried on it.
    """
    plan = TrafficPlan(
        organizations=organizations,
        days=days,
        messages=messages,
        seed=seed,
        first_day=first_day.date(),
        body_bytes=body_bytes,
        incidents=incidents,
    )
    if (folder / JOURNAL_FOLDER).exists():
        raise Misconfigured([f"there is already a network in {folder}; use --out for an empty folder"])
    if incidents > (possible := max_incidents(plan)):
        raise Misconfigured(
            [
                f"--incidents {incidents}: at most {possible} are possible with {organizations} organizations and "
                f"{days} days, one for each of the largest organizations; choose more of them"
            ]
        )
    with out.progress("simulating", messages) as advance:
        done = asyncio.run(generate(plan, folder / JOURNAL_FOLDER, advance))
    _print_summary(out, folder, done)


def _print_summary(out: Output, folder: Path, done: Generated) -> None:
    planted = [
        {"organization": one.organization, "day": one.day.isoformat(), "trouble": one.trouble.value}
        for one in done.incidents
    ]
    out.value(
        {"messages": done.messages, "entries": done.entries, "chain": done.head.chain.hex(), "incidents": planted}
    )
    out.print(f"{done.messages} messages with their histories: {done.entries} entries in {folder / JOURNAL_FOLDER}")
    if planted:
        out.table(["ORGANIZATION", "DAY", "TROUBLE"], [list(one.values()) for one in planted])
