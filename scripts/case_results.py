"""Reads what pytest wrote about each test with ``--junitxml`` and ``junit_family=xunit1``."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """How one test ended; ``error`` is the first line of its failure."""

    name: str
    seconds: float
    error: str = ""
    is_skipped: bool = False


def read_results(file: Path) -> list[CaseResult]:
    """Return the results of all tests; none if pytest did not come to its end."""
    if not file.exists():
        return []
    return [_result(case) for case in ElementTree.parse(file).iter("testcase")]


def _result(case: ElementTree.Element) -> CaseResult:
    path = case.get("file", "")
    inside = case.get("classname", "").removeprefix(path.removesuffix(".py").replace("/", ".")).lstrip(".")
    names = [name for name in (path, *inside.split("."), case.get("name", "")) if name]
    error = next((found for kind in ("failure", "error") if (found := case.find(kind)) is not None), None)
    return CaseResult(
        name="::".join(names),
        seconds=float(case.get("time", 0)),
        error=_first_line(error) if error is not None else "",
        is_skipped=error is None and case.find("skipped") is not None,
    )


def _first_line(error: ElementTree.Element) -> str:
    return next(iter((error.get("message") or error.text or "").splitlines()), "") or "failed without a message"
