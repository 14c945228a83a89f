"""Dead letters on the terminal."""

from __future__ import annotations

import sys

import click

from postroad.cli.framework.exit_codes import ExitCode
from postroad.cli.framework.output import Output
from postroad.core.delivery.reasons import times_text
from postroad.core.resources.dead_letters import LetterDetails, LetterResult, LetterView


def show_dead_letters(out: Output, letters: list[LetterView]) -> None:
    if letters:
        heads = ["DELIVERY", "FAILED", "AT", "FROM", "TOPIC", "CAUSE", "REASON"]
        rows = [
            [str(one.delivery), one.failed_at, one.service, one.sender, one.topic, one.cause, one.reason]
            for one in letters
        ]
        out.table(heads, rows)


def show_dead_letter(out: Output, letter: LetterDetails) -> None:
    """Print one dead letter in full."""
    for name, value in _facts(letter):
        out.print(f"{name:<11}{value}")
    if letter.events:
        out.table(["TIME", "EVENT", "BY", "DETAIL"], [[one.at, one.what, one.by, one.detail] for one in letter.events])
    if letter.parts:
        out.table(["PART", "TYPE", "BYTES"], [[one.id, one.content_type, str(one.size)] for one in letter.parts])


def _facts(letter: LetterDetails) -> list[tuple[str, str]]:
    return [
        ("session", letter.session),
        ("from", letter.sender),
        ("failed at", f"{letter.service}, {letter.failed_at}"),
        ("cause", letter.cause),
        ("reason", letter.reason),
        ("message", " ".join(filter(None, (letter.type, letter.topic, letter.handle)))),
        ("size", f"{letter.size} bytes"),
        ("handed out", times_text(letter.attempts)),
        ("dealt with", "no" if letter.open else "yes"),
    ]


def report_results(out: Output, dealt: list[LetterResult], done: str) -> None:
    """Print the results for many dead letters; exits with the refusal code when some were refused."""
    for one in dealt:
        out.value(one)
    refused = [one for one in dealt if one.code]
    out.print(f"{len(dealt) - len(refused)} {done}")
    for one in refused if not out.as_json else ():
        click.echo(f"{one.letter} not {done}: {one.detail} [{one.code}]", err=True)
    if refused:
        sys.exit(ExitCode.REFUSED)
