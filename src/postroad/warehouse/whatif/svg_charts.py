"""Small SVG charts for a self-contained page.

Rules: functions return text and have no side effects; every text is escaped; each chart has a title for screen readers.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from html import escape
from typing import NamedTuple

WIDTH = 860
BAR, GAP = 18, 6
LABEL, VALUE = 250, 90  # space for text left and right of bars
DAY_HEIGHT = 180
DAYS_LABELLED = 10


class Series(NamedTuple):
    """One series of values with its name and colour."""

    name: str
    colour: str
    values: Sequence[Decimal]


def draw_stacked_days(title: str, days: Sequence[str], series: Sequence[Series]) -> str:
    """Draw one column per day, with the series stacked."""
    tops = [sum((one.values[place] for one in series), Decimal(0)) for place in range(len(days))]
    most = max(tops, default=Decimal(0)) or Decimal(1)
    step = Decimal(WIDTH - 60) / max(1, len(days))
    drawn = [_text(0, 14, f"{most:,}"), _line(60, 10, WIDTH, 10), _line(60, 10 + DAY_HEIGHT, WIDTH, 10 + DAY_HEIGHT)]
    for place, day in enumerate(days):
        x, y = 60 + step * place, Decimal(10 + DAY_HEIGHT)
        for one in series:
            height = one.values[place] / most * DAY_HEIGHT
            y -= height
            drawn.append(_bar(x + 1, y, max(step - 2, Decimal(1)), height, one, f"{day}: {one.values[place]:,}"))
        if place % max(1, -(-len(days) // DAYS_LABELLED)) == 0:
            drawn.append(_text(x, 28 + DAY_HEIGHT, day[5:]))
    return _svg(title, DAY_HEIGHT + 40, drawn)


def draw_paired_bars(title: str, names: Sequence[str], series: Sequence[Series]) -> str:
    """Draw a bar of every series for each name, from the same zero; negative values go to the left."""
    values = [value for one in series for value in one.values]
    low, high = min([*values, Decimal(0)]), max([*values, Decimal(0)])
    scale = Decimal(WIDTH - LABEL - VALUE) / ((high - low) or 1)
    zero, rows = LABEL - low * scale, len(series) * BAR + GAP
    drawn = []
    for place, name in enumerate(names):
        top = place * rows
        drawn.append(_text(0, top + BAR * len(series) // 2 + 5, _cut(name), full=name))
        for number, one in enumerate(series):
            value, y = one.values[place], top + number * BAR
            left = zero + min(value, Decimal(0)) * scale
            drawn.append(_bar(left, Decimal(y), abs(value) * scale, Decimal(BAR - 2), one, f"{name}: {value:,}"))
            drawn.append(_text(zero + max(value, Decimal(0)) * scale + 4, y + BAR - 5, f"{value:,}"))
    drawn.append(_line(zero, 0, zero, len(names) * rows))
    return _svg(title, len(names) * rows + 4, drawn)


def draw_legend(series: Sequence[Series]) -> str:
    items = [f'<span><i style="background:{one.colour}"></i>{escape(one.name)}</span>' for one in series]
    return f'<p class="legend">{"".join(items)}</p>'


def _svg(title: str, height: int, drawn: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" width="100%" role="img" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title>{''.join(drawn)}</svg>"
    )


def _bar(x: Decimal, y: Decimal, width: Decimal, height: Decimal, series: Series, told: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{series.colour}">'
        f"<title>{escape(f'{told} {series.name}')}</title></rect>"
    )


def _text(x: Decimal | int, y: int, text: str, full: str = "") -> str:
    told = f"<title>{escape(full)}</title>" if full and full != text else ""
    return f'<text x="{x:.1f}" y="{y}">{told}{escape(text)}</text>'


def _line(x1: Decimal | int, y1: int, x2: Decimal | int, y2: int) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}"/>'


def _cut(name: str, most: int = 36) -> str:
    return name if len(name) <= most else name[: most - 1] + "…"
