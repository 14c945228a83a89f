"""Dead letters on the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.core.delivery.reasons import times_text

if TYPE_CHECKING:
    from postroad.client.dead_letters import LetterResult

COLUMNS = ("delivery", "failedAt", "service", "from", "topic", "cause", "reason")


def show_dead_letters(out: Output, letters: list[dict[str, Any]]) -> None:
    if letters:
        heads = ["DELIVERY", "FAILED", "AT", "FROM", "TOPIC", "CAUSE", "REASON"]
        out.table(heads, [[str(letter[name]) for name in COLUMNS] for letter in letters])


def show_dead_letter(out: Output, letter: dict[str, Any]) -> None:
    """Print one dead letter in full."""
    for name, value in _facts(letter):
        out.say(f"{name:<11}{value}")
    events = [[one[key] for key in ("at", "what", "by", "detail")] for one in letter["events"]]
    if events:
        out.table(["TIME", "EVENT", "BY", "DETAIL"], events)
    parts = [[one["id"], one["contentType"], str(one["size"])] for one in letter["parts"]]
    if parts:
        out.table(["PART", "TYPE", "BYTES"], parts)


def _facts(letter: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        ("session", letter["session"]),
        ("from", letter["from"]),
        ("failed at", f"{letter['service']}, {letter['failedAt']}"),
        ("cause", letter["cause"]),
        ("reason", letter["reason"]),
        ("message", " ".join(filter(None, (letter["type"], letter["topic"], letter["handle"])))),
        ("size", f"{letter['size']} bytes"),
        ("handed out", times_text(letter["attempts"])),
        ("dealt with", "no" if letter["open"] else "yes"),
    ]


def report_results(out: Output, dealt: list[LetterResult], done: str) -> None:
    """Print the results for many dead letters; exits with the refusal code when some were refused."""
    for one in dealt:
        out.value(one)
    refused = [one for one in dealt if one.code]
    out.say(f"{len(dealt) - len(refused)} {done}")
    for one in refused if not out.as_json else ():
        click.echo(f"{one.letter} not {done}: {one.detail} [{one.code}]", err=True)
    if refused:
        sys.exit(ExitCode.REFUSED)
