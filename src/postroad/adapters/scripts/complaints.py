"""What Starlark says is wrong, made readable: the place in the script and the fault, without the text that it quotes."""

from __future__ import annotations

import re
from typing import NamedTuple

from postroad.adapters.scripts.language import SCRIPT

LONGEST_DETAIL = 900  # there is something to be said before and after

_FAULT = re.compile(r"^error: (?:fail: )?(.*?)\n {0,8}--> (\w+):(\d+):(\d+)", re.DOTALL | re.MULTILINE)
_CALLED = re.compile(rf"^  \* {SCRIPT}:(\d+), in ", re.MULTILINE)


class Complaint(NamedTuple):
    """``line`` is 0 where the fault is not in the script, but in how it is called or in what it returned."""

    detail: str
    line: int = 0
    column: int = 0

    @property
    def words(self) -> str:
        return f"line {self.line}: {self.detail}" if self.line else self.detail


def complaint(fault: str) -> Complaint:
    found = _FAULT.search(fault)
    if found is None:
        return Complaint(" ".join(fault.split())[:LONGEST_DETAIL])
    detail = " ".join(found[1].split())[:LONGEST_DETAIL] or "it failed"
    if found[2] == SCRIPT:
        return Complaint(detail, int(found[3]), int(found[4]))
    called = _CALLED.findall(fault, 0, found.start())
    return Complaint(detail, int(called[-1]) if called else 0)
