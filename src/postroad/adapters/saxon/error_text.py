"""Converts Saxon's errors into readable text: the line in the user's source and the error, without our file names.

Saxon's exceptions lack the line of run-time errors; Saxon prints it, and the text of ``xsl:message``, to standard
error.
"""

from __future__ import annotations

import re

from postroad.adapters.confined.frames import WorkerOutcome

LONGEST_DETAIL = 1_000
_LINE = re.compile(r"\bon line (\d+)")
_OUR_FILE = re.compile(r"\s+(?:of|in) (?:file:\S*?(?=:?(?:\s|$)))|;?\s*systemId: \S+")
_REPORT = re.compile(r"^(?:Static |Type )?[Ee]rror\b", re.MULTILINE)
_TERMINATED = "terminated by xsl:message"


def refusal(code: str, fault: str, printed: str, what: str = "") -> WorkerOutcome:
    """Return the outcome for an error, with its printed text; ``what`` names the cause if it is not the source."""
    place = _LINE.search(fault) or _last_place(printed)
    detail = _tidy(fault).removesuffix(".")
    if _TERMINATED in fault and (words := _last_message(printed)):
        detail = f"xsl:message ended the transform: {words}"
    return WorkerOutcome(code=code, detail=(what + detail)[:LONGEST_DETAIL], line=int(place[1]) if place else 0)


def _last_message(printed: str) -> str:
    """Return the text of ``xsl:message`` that precedes Saxon's report."""
    lines = _REPORT.split(printed, maxsplit=1)[0].strip().splitlines()
    return _tidy(lines[-1]) if lines else ""


def _last_place(printed: str) -> re.Match[str] | None:
    """The report comes after all messages; its first line names the place, later ones name where that was called from."""
    reports = list(_REPORT.finditer(printed))
    return _LINE.search(printed, reports[-1].start()) if reports else None


def _tidy(text: str) -> str:
    return " ".join(_OUR_FILE.sub("", text).split())
