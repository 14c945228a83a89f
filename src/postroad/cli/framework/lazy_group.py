"""A click group that imports a command only when it is used."""

from __future__ import annotations

from importlib import import_module
from keyword import iskeyword
from typing import NamedTuple

import click


class CommandEntry(NamedTuple):
    """The module of a command and its line in the command list (a test compares it with the command's own help)."""

    module: str
    help: str


class LazyGroup(click.Group):
    """Loads each command from its module by name: hyphens become underscores, Python keywords get a trailing underscore."""

    entries: dict[str, CommandEntry]

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
