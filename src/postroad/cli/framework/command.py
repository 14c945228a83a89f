"""The decorator of all commands: ``--json``, an ``Output`` as first argument, and exit codes for errors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from postroad.cli.framework.exit_codes import report_errors
from postroad.cli.framework.output import Output


def command(function: Callable[..., None]) -> click.Command:
    """Turn a function into a click command; its docstring is the help text."""

    @functools.wraps(function)
    def run(*arguments: Any, as_json: bool, **options: Any) -> None:
        out = Output(as_json)
        with report_errors(out):
            function(out, *arguments, **options)

    json = click.option("--json", "as_json", is_flag=True, help="Print JSON, one value per line, for scripts.")
    name = function.__name__.rstrip("_").replace("_", "-")
    return click.command(name)(json(run))
