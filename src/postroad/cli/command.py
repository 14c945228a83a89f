"""What every command shares: ``--json``, an ``Output`` as its first argument, and errors that end with the right exit code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from postroad.cli.exits import reported
from postroad.cli.output import Output


def command(function: Callable[..., None]) -> click.Command:
    """A click command of the function, whose docstring is its help."""

    @functools.wraps(function)
    def run(*arguments: Any, as_json: bool, **options: Any) -> None:
        out = Output(as_json)
        with reported(out):
            function(out, *arguments, **options)

    json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one value a line, for scripts.")
    name = function.__name__.rstrip("_").replace("_", "-")
    return click.command(name)(json(run))
