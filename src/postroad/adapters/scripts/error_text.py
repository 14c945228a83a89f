"""Converts Starlark's errors into readable text: the line in the script and the error, without quoted source."""

from __future__ import annotations

import re
from typing import NamedTuple

from postroad.adapters.scripts.language import SCRIPT

LONGEST_DETAIL = 900  # there is something to be said before and after

_FAULT = re.compile(r"^error: (?:fail: )?(.*?)\n {0,8}--> (\w+):(\d+):(\d+)", re.DOTALL | re.MULTILINE)
_CALLED = re.compile(rf"^  \* {SCRIPT}:(\d+), in ", re.MULTILINE)


class ScriptError(NamedTuple):
    """An error of a script. ``line`` is 0 if the error is in the call or the result, not in the script."""

    detail: str
    line: int = 0
    column: int = 0

    @property
    def words(self) -> str:
        return f"line {self.line}: {self.detail}" if self.line else self.detail


def read_script_error(fault: str) -> ScriptError:
    found = _FAULT.search(fault)
    if found is None:
        return ScriptError(" ".join(fault.split())[:LONGEST_DETAIL])
    detail = " ".join(found[1].split())[:LONGEST_DETAIL] or "it failed"
    if found[2] == SCRIPT:
        return ScriptError(detail, int(found[3]), int(found[4]))
    called = _CALLED.findall(fault, 0, found.start())
    return ScriptError(detail, int(called[-1]) if called else 0)
