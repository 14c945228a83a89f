"""Sections of the performance page that one benchmark writes by itself: between two marks, and nowhere else."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "performance.md"


def publish(name: str, text: str, page: Path = PAGE) -> None:
    """Put the text in the place of what ``python -m benchmarks.NAME`` wrote there before."""
    begin, end = f"<!-- {name}: written by `python -m benchmarks.{name}`, do not edit -->", f"<!-- end of {name} -->"
    before, found, rest = page.read_text().partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"{page.name} has no place for it: put the lines {begin} and {end} into it")
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")
