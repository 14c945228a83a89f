"""Writes ``docs/reference/log-events.md`` from the log calls of the server: event, level, text and module."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parents[1] / "src" / "postroad"
PACKAGES = (
    "adapters",
    "api",
    "bootstrap",
    "console",
    "flow",
    "services",
)  # of the server; the SDK has a log of its own
LOGGERS = frozenset({"log", "_log"})
LEVELS = {
    "debug": "debug",
    "info": "info",
    "warning": "warning",
    "error": "error",
    "exception": "error",
    "critical": "critical",
}
EVENT = re.compile(r"([a-z][a-z0-9_]*\.[a-z0-9_]+): (.+)", re.DOTALL)
FORMAT = re.compile(r"%[-+.\d]*[a-z]")

INTRODUCTION = """\
# Log events

Made from the code by `python -m scripts.reference_pages`.

The server writes its log to standard error. Each line begins with the name of its event, so that it can be counted and
filtered:

```
2026-11-19 20:14:03,120 WARNING postroad.desk: postgres.unavailable: database away: ConnectionResetError
```

With `log_form = "json"` each line is an object with `at`, `level`, `logger`, `event` and `message`; `exception` is added if
there is one. IDs and codes that a line is about are fields too: `session`, `transaction`, `gcid` (of a service), `code`, `batch`,
`entry` and `incident`. A line that comes again within ten seconds is counted, and reported once with `repeated`. Under systemd,
lines begin with their priority.

The log contains names of services, ids of sessions, batches and entries, numbers and codes. It contains no content of messages,
no handles or properties, no keys, passwords or header values. The journal is the audit trail; the log is for operators.

| Event | Level | Text | Module |
|---|---|---|---|
"""


class LogCall(NamedTuple):
    """A call that writes to the log: its level, text and place, and whether it passes fields."""

    level: str
    text: str
    module: str
    line: int
    has_fields: bool


def render() -> str:
    rows = sorted({_row(call) for call in find_calls()})
    return INTRODUCTION + "\n".join(rows) + "\n"


def find_calls() -> Iterator[LogCall]:
    """Yield every log call of the server."""
    for package in PACKAGES:
        for file in sorted((SOURCE / package).rglob("*.py")):
            module = ".".join(file.relative_to(SOURCE).with_suffix("").parts)
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Call) and (level := _level_of(node)):
                    has_fields = any(keyword.arg == "extra" for keyword in node.keywords)
                    yield LogCall(level, _text_of(node), module, node.lineno, has_fields)


def _level_of(call: ast.Call) -> str:
    target = call.func
    is_log = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id in LOGGERS
    return LEVELS.get(target.attr, "") if isinstance(target, ast.Attribute) and is_log else ""


def _text_of(call: ast.Call) -> str:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _row(call: LogCall) -> str:
    found = EVENT.fullmatch(call.text)
    if found is None:
        raise ValueError(
            f"{call.module}, line {call.line}: begin the text with the event's name, such as index.rebuilt: …"
        )
    text = FORMAT.sub("…", found[2].partition("\n")[0]).replace("|", "\\|")
    return f"| `{found[1]}` | {call.level} | {text} | `{call.module}` |"
