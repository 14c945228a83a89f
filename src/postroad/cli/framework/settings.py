"""The settings of a network on this machine, for commands that run it or read its stores."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from postroad.bootstrap.settings import Settings, read_settings
from postroad.errors import Misconfigured


def with_settings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add options that change settings; the command receives the resulting ``settings``."""

    @functools.wraps(function)
    def run(*arguments: Any, config: Path | None, data: str, changes: tuple[str, ...], **options: Any) -> Any:
        return function(*arguments, settings=gather_settings(config, data, changes), **options)

    for option in (
        click.option("--set", "changes", multiple=True, metavar="NAME=VALUE", help="Change one setting; repeatable."),
        click.option("--data", default="", help="Folder of journal, index and keys.", metavar="FOLDER"),
        click.option(
            "--config", type=click.Path(path_type=Path), help="Settings in TOML (default: postroad.toml, if it exists)."
        ),
    ):
        run = option(run)
    return run


def gather_settings(
    config: Path | None, data: str, changes: tuple[str, ...], defaults: Mapping[str, Any] | None = None
) -> Settings:
    """Return the settings of the file, the environment and the command line; ``defaults`` hold where none of them sets one."""
    overrides: dict[str, Any] = {"data": data} if data else {}
    errors: list[str] = []
    for change in changes:
        name, equals, value = change.partition("=")
        setting = name.strip().replace("-", "_")
        if not equals:
            errors.append(f"--set {change}: write it as NAME=VALUE")
        elif setting not in Settings.__dataclass_fields__:
            errors.append(f"--set {setting}: unknown setting; see `postroad doctor --settings`")
        else:
            overrides[setting] = value
    try:
        settings = read_settings(file=config, environment=os.environ, overrides=overrides, defaults=defaults)
    except Misconfigured as error:
        raise Misconfigured([*errors, *error.faults]) from None
    if errors:
        raise Misconfigured(errors)
    return settings
