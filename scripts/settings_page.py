"""The reference page of the settings, written from the fields of ``Settings`` and the comments above them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from postroad.bootstrap.settings import FILE, PREFIX, SECRET, Settings
from scripts.source_comments import Field, fields

INTRODUCTION = f"""# Settings

<!-- Written by `python -m scripts.reference_pages`; a test compares. Change bootstrap/settings.py, not this page. -->

Settings are read from these sources; later sources override earlier ones:

1. its default;
2. the file `{FILE}` in the folder where the server starts, or the one that `--config` names (TOML, `name = value`);
3. the variable `{PREFIX}NAME`, or `{PREFIX}NAME_FILE` with the name of a file that holds the value, for secrets;
4. `--set name=value` on the command line.

They are read once, at the start. All faults are listed together, and an unknown name is a fault. `postroad doctor --settings`
shows every setting that holds, and where it comes from; secrets are masked.

| setting | default | meaning |
|---|---|---|
"""

OTHERS = f"""
Lists are written as TOML lists in the file and with commas in a variable.

## Variables that are not settings

Clients read these, the server does not.

| variable | meaning |
|---|---|
| `{PREFIX}URL` | address of the network |
| `{PREFIX}KEY_FILE` | file that holds the API key |
| `{PREFIX}KEY` | the API key itself; a file is safer |
"""


def render() -> str:
    return INTRODUCTION + "".join(_row(field) for field in fields(Settings)) + OTHERS


def _row(field: Field) -> str:
    secret = " (a secret)" if field.name in SECRET else ""
    default = Settings.__dataclass_fields__[field.name].default
    return f"| `{field.name}` | {shown(default)} | {field.above}{secret} |\n"


def shown(default: Any) -> str:
    match default:
        case Path():
            return f"`{default}`"
        case "" | ():
            return "none"
        case int() if default >= 1 << 20:
            gib = default >= 1 << 30
            return f"{default} ({default >> (30 if gib else 20)} {'GiB' if gib else 'MiB'})"
        case str():
            return f'`"{default}"`'
    return str(default)
