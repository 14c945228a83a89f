"""Writes the blocking client from the asynchronous one: ``python -m scripts.blocking_client``; a test compares.

Every module of ``postroad.client.nonblocking`` becomes a module of ``postroad.client.blocking``: ``async`` and ``await``
are removed, names lose their ``Async``, and the few texts that hold for one of them only are replaced (``TEXTS``). The
runners differ in more than that and are written by hand.

Rule: a name or text in the tables that occurs nowhere is an error.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

CLIENT = Path(__file__).resolve().parents[1] / "src" / "postroad" / "client"
SOURCE = CLIENT / "nonblocking"
TARGET = CLIENT / "blocking"
BY_HAND = frozenset({"__init__.py", "runner.py"})
HEAD = "# Generated from nonblocking/{name} by `python -m scripts.blocking_client`; edit that file instead.\n"
NAMES = {"nonblocking": "blocking", "__aenter__": "__enter__", "__aexit__": "__exit__"}
TEXTS = {
    '''"""The asynchronous client: one method for each operation of the API.

Rule: this package is the source of ``postroad.client.blocking``, which ``python -m scripts.blocking_client`` writes; only
the runners, which carry conversations out, are written by hand in both.
"""''': '"""The blocking client: one method for each operation of the API."""',
    "The client for asyncio; each method that talks to the network must be awaited.": (
        "The blocking client; safe for threads, except that only one ``handle`` runs at a time."
    ),
    " ``function`` may be a coroutine function.": "",
    "End ``handle`` after the current message, at once while it waits; from other threads by ``call_soon_threadsafe``.": (
        "End ``handle`` (the next one, if none runs) after its current message or wait; for other threads and the function."
    ),
}


class Edit(NamedTuple):
    """A piece of a file and the text that replaces it."""

    begin: tuple[int, int]  # line and column
    end: tuple[int, int]
    text: str


def render() -> dict[Path, str]:
    """Return every generated file with its text."""
    sources = {path.name: path.read_text() for path in sorted(SOURCE.glob("*.py")) if path.name not in BY_HAND}
    for searched in (*TEXTS, *NAMES):
        if not any(searched in source for source in sources.values()):
            raise ValueError(f"{searched!r} occurs nowhere in {SOURCE}; remove it from this script")
    return {TARGET / name: format_source(HEAD.format(name=name) + convert(source)) for name, source in sources.items()}


def convert(source: str) -> str:
    """Return the blocking version of an asynchronous module, not formatted."""
    for searched, replacement in TEXTS.items():
        source = source.replace(searched, replacement)
    lines = source.splitlines(keepends=True)
    for edit in sorted(find_edits(source), reverse=True):
        row, column = edit.begin
        line = lines[row - 1]
        lines[row - 1] = line[:column] + edit.text + line[edit.end[1] :]
    return "".join(lines)


def find_edits(source: str) -> Iterator[Edit]:
    """Yield the edits of keywords and names; each is within one line."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for token, following in pairwise(tokens):
        if token.type == tokenize.NAME and token.string in ("async", "await"):
            yield Edit(token.start, following.start, "")
        elif token.type == tokenize.NAME and (name := blocking_name(token.string)) != token.string:
            yield Edit(token.start, token.end, name)


def blocking_name(name: str) -> str:
    """Return what a name of the asynchronous client is called in the blocking one."""
    return NAMES.get(name) or re.sub(r"^Async(?=[A-Z])", "", name)


def format_source(source: str) -> str:
    """Return the source in the project's style, with sorted imports."""
    for command in (["check", "--quiet", "--select", "I", "--fix"], ["format", "--quiet"]):
        arguments = [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET / "client.py"), "-"]
        done = subprocess.run(arguments, input=source, capture_output=True, text=True, check=True, cwd=CLIENT)
        source = done.stdout
    return source


if __name__ == "__main__":
    for path, text in render().items():
        path.write_text(text)
