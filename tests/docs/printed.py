"""Comparing what a page says is printed with what was printed, when ids, times and durations are never twice the same.

An id on a page stands for the id that really came: where it is first seen, it is learned; from then on the page must use it
consistently, in output and in commands alike. Times and durations only have to look like it. ``…`` alone on a line stands for any
lines, and within a line for any text.
"""

from __future__ import annotations

import re

KINDS = {
    "token": r"[0-9a-f]{1,16}\.[0-9a-f]{32}",
    "session": r"\b[0-9a-f]{32}\b",
    "batch": r"\b[0-9a-f]{20}\b",
    "gcid": r"\b[0-9a-f]{16}\b",
    "moment": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)",
    "time": r"\b\d\d:\d\d:\d\d\.\d{3}\b",
    "duration": r"\+\d+\.\d m?s\b",
    "any": r"…",
}
LEARNED = {"token", "session", "batch", "gcid"}
VOLATILE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in KINDS.items()))
SHELL_NOISE = re.compile(r"^\S*sh: (?:line )?\d+: +\d+ Killed.*$|^Killed$")


class Printed:
    """What is known so far about the ids of one page; ``fixed`` maps its addresses to those of this run."""

    def __init__(self, fixed: dict[str, str]) -> None:
        self._known = dict(fixed)

    def told(self, text: str) -> str:
        """The page's text with the real ids and addresses in it."""
        for shown, real in self._known.items():
            text = text.replace(shown, real)
        return text

    def differs(self, expected: tuple[str, ...], output: str) -> str:
        """An empty text when the output is as expected, else both, to be read by people."""
        lines = [line.rstrip() for line in output.strip("\n").split("\n") if not SHELL_NOISE.match(line)]
        names: dict[str, str] = {}
        pattern = "".join(self._pattern(line.rstrip()) for line in expected)
        match = re.fullmatch(_distinct(pattern, names), "".join(f"{line}\n" for line in lines if lines != [""]))
        if match is None:
            shown = "\n".join(expected)
            return f"the page says:\n{shown}\n\nbut this was printed:\n" + "\n".join(lines)
        for name, shown in names.items():
            self._known[shown] = match[name]
        return ""

    def _pattern(self, line: str) -> str:
        if line == "…":
            return r"(?:.*\n)*?"
        parts: list[str] = []
        end = 0
        for match in VOLATILE.finditer(line):
            parts.append(re.escape(self.told(line[end : match.start()])))
            parts.append(self._volatile(match))
            end = match.end()
        return "".join(parts) + re.escape(self.told(line[end:])) + "\n"

    def _volatile(self, match: re.Match[str]) -> str:
        kind, shown = str(match.lastgroup), match[0]
        if shown in self._known:
            return re.escape(self._known[shown])
        if kind in LEARNED:
            return f"<<{kind}:{shown}>>"
        return ".*" if kind == "any" else KINDS[kind]


def _distinct(pattern: str, names: dict[str, str]) -> str:
    """Ids not known yet become groups, and the same id again a reference to its group."""

    def group(match: re.Match[str]) -> str:
        kind, shown = match[1], match[2]
        name = f"id{len(names)}"
        seen = next((known for known, value in names.items() if value == shown), "")
        if seen:
            return f"(?P={seen})"
        names[name] = shown
        return f"(?P<{name}>{KINDS[kind]})"

    return re.sub(r"<<(\w+):([^>]+)>>", group, pattern)
