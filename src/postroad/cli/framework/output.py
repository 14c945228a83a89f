"""The output of commands: text and colours for people, or JSON for scripts, never both.

Results go to standard output and everything else (progress, errors) to standard error, so that output can be piped.
In JSON mode each value is one line. Text from others (a partner's answer, a document) cannot affect the terminal's
cursor, title or clipboard: of all control characters, only those of colours, lines and tabs pass. Nor can it change
the order in which other characters are shown.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 240
Advance = Callable[[float], None]  # told the new total of what is done


# Control characters except tabs, ends of lines and colours; and invisible characters that change the order in which the others
# are shown (bidirectional marks, embeddings, overrides and isolates) or that some programs take for the end of a line.
CONTROLS = r"\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f"
INVISIBLE = r"\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
HARMFUL = re.compile(rf"(?!\x1b\[[\d;]*m)[{CONTROLS}{INVISIBLE}]")  # x85 ends a line


def strip_controls(text: str) -> str:
    """Return the text on one line, without control characters."""
    return "".join(character if character.isprintable() else " " for character in text)


def strip_harmful_controls(text: str) -> str:
    """Remove all control characters except line breaks, tabs and colours."""
    return HARMFUL.sub(" ", text)


class Output:
    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json

    @cached_property
    def console(self) -> Console:
        """Return the Rich console; imported on first use, since the import is slow."""
        from rich.console import Console

        # A pipe has no edge to wrap at, and its reader needs unbroken ids.
        return Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)

    def value(self, value: Any) -> None:
        """Print one line of JSON; nothing in text mode."""
        if self.as_json:
            import msgspec

            click.echo(msgspec.json.encode(value).decode())

    def show(self, *drawn: Any) -> None:
        """Print Rich objects such as styled text or trees; never plain strings, which Rich would parse as markup."""
        if not self.as_json:
            with self.console.capture() as captured:
                self.console.print(*drawn)
            click.echo(strip_harmful_controls(captured.get()), nl=False)

    def print(self, text: str) -> None:
        """Print plain lines in text mode; YAML keeps its exact form."""
        if not self.as_json:
            click.echo(strip_harmful_controls(text))

    def error(self, code: str, detail: str, **more: Any) -> None:
        given = {name: value for name, value in more.items() if value}
        if self.as_json:
            import msgspec

            click.echo(msgspec.json.encode({"code": code, "detail": detail} | given).decode(), err=True)
        else:
            session = f" (session {given['session']})" if "session" in given else ""
            click.echo(
                f"{click.style('error', fg='red')}: {strip_harmful_controls(detail)} [{code}]{session}", err=True
            )

    @contextmanager
    def progress(self, what: str, total: float | None = None) -> Iterator[Advance]:
        """Show a progress bar on standard error if it is a terminal."""
        if self.as_json or not sys.stderr.isatty():
            yield lambda done: None
            return
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda done: bar.update(task, completed=done)

    def table(self, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
        if self.as_json:
            return
        from rich.table import Table
        from rich.text import Text

        drawn = Table(box=None, pad_edge=False)
        for column in columns:
            drawn.add_column(column, overflow="fold")
        for row in rows:
            drawn.add_row(*(Text(strip_controls(cell)) for cell in row))
        self.show(drawn)
