"""Draws traffic per second as SVG bars; colors come from the style sheet of the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT, GROUND = 600, 90, 80


class SecondCount(NamedTuple):
    """One second of traffic: how many messages succeeded, and how many failed."""

    moved: int
    failed: int


def traffic_svg(beats: Sequence[SecondCount]) -> str:
    """The newest second is on the right; the highest bar fills the picture."""
    highest = max([beat.moved + beat.failed for beat in beats], default=0)
    told = f"Traffic of the last {len(beats)} seconds, second by second: {highest} in the busiest"
    pitch = WIDTH / max(1, len(beats))
    bars = "".join(_bar(place * pitch, pitch, beat, highest) for place, beat in enumerate(beats) if any(beat))
    return (
        f'<svg class="pulse" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{told}" preserveAspectRatio="none">'
        f'{bars}<line class="axis" x1="0" y1="{GROUND}" x2="{WIDTH}" y2="{GROUND}"/></svg>'
    )


def _bar(x: float, pitch: float, beat: SecondCount, highest: int) -> str:
    moved, failed = (round(count / highest * (GROUND - 4), 1) for count in beat)
    width = round(pitch * 0.8, 1)
    low = f'<rect class="moved" x="{x:.1f}" y="{GROUND - moved:.1f}" width="{width}" height="{moved:.1f}"/>'
    top = GROUND - moved - failed
    high = f'<rect class="failed" x="{x:.1f}" y="{top:.1f}" width="{width}" height="{failed:.1f}"/>'
    return (low if beat.moved else "") + (high if beat.failed else "")
