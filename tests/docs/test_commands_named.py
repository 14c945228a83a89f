"""Commands that pages and error texts name in passing exist, with the options that are written there."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

import click
import pytest

from postroad.cli.main import postroad
from tests.source_tree import ROOT

pytestmark = pytest.mark.docs

NAMED = re.compile(r"`(?:\S*/)?postroad ([a-z][^`]*)`")
PLACES = [
    *ROOT.glob("*.md"),
    *(page for page in ROOT.glob("docs/**/*.md") if page.name != "cli.md"),
    *ROOT.glob("examples/*/README.md"),
    *ROOT.glob("src/postroad/**/*.py"),
]


def named_in(text: str) -> Iterator[str]:
    """What stands between backticks; a line break there is a space."""
    return (" ".join(found.split()) for found in NAMED.findall(text))


def fault(command_line: str) -> str:
    """Empty when there is such a command with such options."""
    try:
        words = shlex.split(command_line.replace("…", ""))
    except ValueError as error:
        return str(error)
    command: click.Command = postroad
    while isinstance(command, click.Group) and words and words[0].islower() and not words[0].startswith("-"):
        name = words.pop(0)
        below = command.get_command(click.Context(command), name)
        if below is None:
            return f"there is no {name}"
        command = below
    known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    unknown = [word for word in words if word.startswith("--") and word.partition("=")[0] not in {*known, "--help"}]
    return f"it has no {', '.join(unknown)}" if unknown else ""


@pytest.mark.req("K2")
def test_every_command_that_is_named_exists_as_it_is_named() -> None:
    found = [(place.relative_to(ROOT), line) for place in PLACES for line in named_in(place.read_text())]
    assert len(found) > 100
    assert [f"{place}: postroad {line}: {why}" for place, line in found if (why := fault(line))] == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("poll --wait 5", ""),
        ("fly", "there is no fly"),
        ("rules grow", "there is no grow"),
        ("poll --ack --wate 5", "it has no --wate"),
    ],
)
def test_a_command_that_is_not_there_is_noticed(line: str, why: str) -> None:
    assert fault(line) == why
    assert list(named_in(f"see `.venv/bin/postroad {line}`, and `postroad.client`")) == [line]
