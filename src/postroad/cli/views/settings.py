"""All settings with their values and origins; secrets are masked by ``Settings.mask_secrets``."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import NamedTuple

from postroad.bootstrap.settings import FILE, PREFIX, Settings


class SettingRow(NamedTuple):
    name: str
    value: str
    origin: str


def settings_rows(settings: Settings, config: Path | None, data: str, changes: tuple[str, ...]) -> list[SettingRow]:
    given = {change.partition("=")[0].strip().replace("-", "_") for change in changes} | ({"data"} if data else set())
    file = config or Path(FILE)
    in_file = tomllib.loads(file.read_text()) if file.exists() else {}
    return [
        SettingRow(name, str(value), _origin(name, given, str(file) if name in in_file else ""))
        for name, value in settings.mask_secrets().items()
    ]


def _origin(name: str, given: set[str], file: str) -> str:
    variable = PREFIX + name.upper()
    if name in given:
        return "command line"
    for found in (variable, variable + "_FILE"):
        if found in os.environ:
            return found
    return file or "default"
