"""A group of commands that are imported when they are used, and not before."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from typing import NamedTuple

import click


class Entry(NamedTuple):
    """Where a command is, and the line about it in the list of commands (a test compares it with the command's own help)."""

    module: str
    help: str


class LazyGroup(click.Group):
    """Commands stand in their module under their own name, hyphens as underscores, and one behind a word of the language."""

    entries: dict[str, Entry]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.entries.get(cmd_name)
        if entry is None:
            return None
        attribute = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name.replace("-", "_")
        found = getattr(import_module(entry.module), attribute)
        if not isinstance(found, click.Command):
            raise TypeError(f"{entry.module} has no command {cmd_name}")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.entries.items()])
