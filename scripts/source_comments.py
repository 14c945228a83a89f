"""Fields of a class with the comments that stand by them in its source, which are their documentation."""

from __future__ import annotations

import inspect
import re
from typing import NamedTuple

FIELD = re.compile(r"^    (?P<name>\w+): (?P<type>[^=#]+?)(?: = (?P<default>[^#]+?))?(?:  # (?P<comment>.+))?$")
COMMENT = re.compile(r"^    # (.+)$")


class Field(NamedTuple):
    name: str
    type: str
    default: str
    comment: str  # on the same line
    above: str  # on the lines above this field, or above the fields that stand directly before it


def fields(kind: type) -> list[Field]:
    found: list[Field] = []
    above: list[str] = []
    fresh = True
    for line in inspect.getsource(kind).splitlines():
        if comment := COMMENT.match(line):
            above = [comment[1]] if fresh else [*above, comment[1]]
            fresh = False
        elif field := FIELD.match(line):
            found.append(Field(**field.groupdict(""), above=" ".join(above)))
            fresh = True
        elif line.startswith("    def "):
            break
    return found
