"""What a service changed in a message: the lines of each document that are gone and those that are new.

XML and JSON are broken into a line for each element or member first, so that a document in one long line shows small changes too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from difflib import unified_diff

from rich.text import Text

from postroad.cli.output import plain
from postroad.core.model.message import Part

BETWEEN_TAGS = re.compile(r">\s*<")
LINES_MOST = 40
STYLES = {"-": "red", "+": "green"}


def lines_of(part: Part) -> list[str]:
    """A part in lines that can be compared and read; of one that is not text, only its size."""
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


def shown(part: Part) -> Text:
    """The whole part; one that is written in lines keeps them as they are."""
    try:
        lines = part.data.decode().rstrip().splitlines()
    except UnicodeDecodeError:
        lines = []
    return joined([Text(plain(line)) for line in (lines if len(lines) > 1 else lines_of(part))])


def joined(lines: list[Text]) -> Text:
    left = len(lines) - LINES_MOST
    return Text("\n").join(lines if left <= 0 else [*lines[:LINES_MOST], Text(f"… and {left} more lines", "dim")])


def named(part: Part) -> str:
    kind = "attachment" if part.attachment else "document"
    return f"{kind} {part.id} ({part.content_type}, {len(part.data)} bytes)"


def changes(before: Sequence[Part], after: Sequence[Part]) -> Iterator[tuple[str, Text]]:
    """Each part that is not as it was, in words and in lines."""
    was, is_now = ({part.id: part for part in parts} for parts in (before, after))
    for name in dict.fromkeys((*was, *is_now)):
        old, new = was.get(name), is_now.get(name)
        if new is None or old is None:
            part = new or was[name]
            yield f"{'added' if old is None else 'removed'} {named(part)}", Text()
        elif old != new:
            yield f"changed {'attachment' if new.attachment else 'document'} {name}", joined(_difference(old, new))


def _difference(old: Part, new: Part) -> list[Text]:
    lines = list(unified_diff(lines_of(old), lines_of(new), lineterm="", n=0))[2:]
    return [Text(f"{line[0]} {plain(line[1:].strip())}", STYLES[line[0]]) for line in lines if line[0] in STYLES]
