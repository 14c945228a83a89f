"""The fields of a disposition notification: lines like a header's, read as leniently as they are written.

Rule: a field is found wherever it can be found with certainty. Blank lines between the fields, continuation lines
without indentation, line ends of any kind: none of them hides a field that begins a line with its name.
"""

from __future__ import annotations

import re

from postroad.core.codecs.buffers import Buffer

_LINE = re.compile(rb"([!-9;-~]+)[ \t]*:(.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_MOST_FIELDS, _MOST_BYTES = 200, 64 << 10  # real ones have ten, in less than a kilobyte


def read_notification(content: Buffer) -> dict[str, str]:
    """The first value of each name, by its name in small letters, on one line."""
    found: dict[str, list[bytes]] = {}
    last: list[bytes] = []
    for line in bytes(content[:_MOST_BYTES]).splitlines():
        field = None if line[:1] in (b" ", b"\t") else _LINE.match(line)
        if field and len(found) < _MOST_FIELDS:
            last = [field[2]]
            found.setdefault(field[1].decode("ascii").lower(), last)
        elif line.strip():
            last.append(line)
    return {name: _on_one_line(lines) for name, lines in found.items()}


def _on_one_line(lines: list[bytes]) -> str:
    text = b" ".join([line.strip() for line in lines]).decode("utf-8", "replace")
    return _CONTROL.sub(" ", text).strip()
