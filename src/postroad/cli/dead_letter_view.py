"""Dead letters on the terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from postroad.cli.exits import Exit
from postroad.cli.output import Output
from postroad.core.delivery.retrying import times

if TYPE_CHECKING:
    from postroad.client.dead_letters import Dealt

COLUMNS = ("delivery", "failedAt", "service", "from", "topic", "cause", "reason")


def table(out: Output, letters: list[dict[str, Any]]) -> None:
    if letters:
        heads = ["DELIVERY", "FAILED", "AT", "FROM", "TOPIC", "CAUSE", "REASON"]
        out.table(heads, [[str(letter[name]) for name in COLUMNS] for letter in letters])


def details(out: Output, letter: dict[str, Any]) -> None:
    """One letter, whole."""
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
        ("handed out", times(letter["attempts"])),
        ("dealt with", "no" if letter["open"] else "yes"),
    ]


def report(out: Output, dealt: list[Dealt], done: str) -> None:
    """What became of many; leaves with the code of a refusal when some were refused."""
    for one in dealt:
        out.value(one)
    refused = [one for one in dealt if one.code]
    out.say(f"{len(dealt) - len(refused)} {done}")
    for one in refused if not out.as_json else ():
        click.echo(f"{one.letter} not {done}: {one.detail} [{one.code}]", err=True)
    if refused:
        sys.exit(Exit.REFUSED)
