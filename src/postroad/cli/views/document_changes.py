"""Changes that a service made to documents: removed and added lines of each part.

XML and JSON are first split into a line for each element or member, so that a document in one long line shows small
changes too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import unified_diff

from rich.text import Text

from postroad.cli.framework.output import strip_controls
from postroad.core.model.message import Part

BETWEEN_TAGS = re.compile(r">\s*<")
MAX_LINES = 40
STYLES = {"-": "red", "+": "green"}


def part_lines(part: Part) -> list[str]:
    """Split a part into lines that can be compared and read; for a binary part, only its size."""
    try:
        text = part.data.decode()
    except UnicodeDecodeError:
        return [f"({len(part.data)} bytes)"]
    kind = part.content_type.partition(";")[0].strip().lower()
    if kind.endswith("json"):
        return _json_lines(text)
    broken = BETWEEN_TAGS.sub(">\n<", text) if kind.endswith("xml") else text
    return [line.rstrip() for line in broken.splitlines()]


def _json_lines(text: str) -> list[str]:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False).splitlines()
    except ValueError:
        return text.splitlines()


def show_part(part: Part) -> Text:
    """Render the whole part; text that has lines keeps them."""
    try:
        lines = part.data.decode().rstrip().splitlines()
    except UnicodeDecodeError:
        lines = []
    return join_lines([Text(strip_controls(line)) for line in (lines if len(lines) > 1 else part_lines(part))])


def join_lines(lines: list[Text]) -> Text:
    left = len(lines) - MAX_LINES
    return Text("\n").join(lines if left <= 0 else [*lines[:MAX_LINES], Text(f"… and {left} more lines", "dim")])


def part_name(part: Part) -> str:
    kind = "attachment" if part.attachment else "document"
    return f"{kind} {part.id} ({part.content_type}, {len(part.data)} bytes)"


def list_changes(before: Sequence[Part], after: Sequence[Part]) -> Iterator[tuple[str, Text]]:
    """Yield each part that has changed, with a description and the difference."""
    was, is_now = ({part.id: part for part in parts} for parts in (before, after))
    for name in dict.fromkeys((*was, *is_now)):
        old, new = was.get(name), is_now.get(name)
        if new is None or old is None:
            part = new or was[name]
            yield f"{'added' if old is None else 'removed'} {part_name(part)}", Text()
        elif old != new:
            yield f"changed {'attachment' if new.attachment else 'document'} {name}", join_lines(_difference(old, new))


def _difference(old: Part, new: Part) -> list[Text]:
    lines = list(unified_diff(part_lines(old), part_lines(new), lineterm="", n=0))[2:]
    return [
        Text(f"{line[0]} {strip_controls(line[1:].strip())}", STYLES[line[0]]) for line in lines if line[0] in STYLES
    ]
