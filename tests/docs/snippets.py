"""What a page of documentation asks its reader to do, in order: files to save, commands to type, programs to run.

A fenced ``console`` block holds commands (lines that begin with ``$ ``, continued by lines that begin with ``> ``) and what they
print. A block below a comment ``<!-- file: NAME -->`` is saved under that name. A ``python`` block without one is run as it is. A
block below ``<!-- not run: REASON -->`` is only looked at; every other ``console``, ``sh`` or ``python`` block is run, so no page
can show what nobody tried. ``<!-- begins after: PAGE#HEADING -->`` puts another page's steps before this one's, up to and with
the section of that heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^>]+?) -->\n\n?)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
BEFORE = re.compile(r"^<!-- begins after: (\S+)#(\S+) -->$", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
RUN = {"console", "python"}
MUST_RUN = RUN | {"sh", "bash", "shell"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Save:
    """A file that the reader saves."""

    name: str
    text: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Type:
    """A command that the reader types, and what the page says it prints."""

    command: str
    printed: tuple[str, ...]
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPython:
    """A program that stands on the page for itself."""

    text: str
    place: str


Step = Save | Type | RunPython


def steps_of(page: Path) -> list[Step]:
    """Everything that the page asks for, after what it begins with."""
    text = page.read_text()
    return [*_before(page, text), *_steps(text, page.name)]


def unrun(text: str) -> list[str]:
    """The first line of each block that should be run and would not be."""
    return [
        match["text"].partition("\n")[0]
        for match in BLOCK.finditer(text)
        if match["kind"] in MUST_RUN - RUN and not _noted(match, "not run") and not _noted(match, "file")
    ]


def _before(page: Path, text: str) -> list[Step]:
    """What the page begins with, and what that page begins with in turn."""
    before = BEFORE.search(text)
    return steps_until(page.parent / before[1], before[2]) if before else []


def steps_until(page: Path, anchor: str) -> list[Step]:
    """Everything that the page asks for up to and with the section of a heading."""
    text = page.read_text()
    headings = list(HEADING.finditer(re.sub(r"```.*?```", lambda block: " " * len(block[0]), text, flags=re.DOTALL)))
    ends = [after.start() for heading, after in pairwise(headings) if _anchor(heading[1]) == anchor]
    if not ends:
        raise ValueError(f"{page.name} has no section {anchor} with another one after it")
    return [*_before(page, text), *_steps(text[: ends[0]], page.name)]


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _steps(text: str, page: str) -> Iterator[Step]:
    for match in BLOCK.finditer(text):
        place = f"{page}:{text.count(chr(10), 0, match.start('text')) + 1}"
        if name := _noted(match, "file"):
            yield Save(name=name, text=match["text"], place=place)
        elif match["kind"] == "python" and not _noted(match, "not run"):
            yield RunPython(text=match["text"], place=place)
        elif match["kind"] == "console" and not _noted(match, "not run"):
            yield from _typed(match["text"], place)


def _noted(match: re.Match[str], word: str) -> str:
    name, _, value = (match["note"] or "").partition(": ")
    return value if name == word else ""


def _typed(block: str, place: str) -> Iterator[Type]:
    for piece in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = piece.rstrip("\n").split("\n")
        command = [lines.pop(0)]
        while lines and lines[0].startswith("> "):
            command.append(lines.pop(0)[2:])
        yield Type(command="\n".join(command), printed=tuple(lines), place=place)
