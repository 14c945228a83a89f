"""Draws the routes of an explanation as SVG, from top to bottom in the order of delivery.

Services are indented by the depth of their invocation; a dashed line connects each to its invoker. Rules: no scripts
and no external references; readable by screen readers, in dark mode and without colours; the same explanation gives
the same picture to the last character.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from postroad.core.audit.pictures.route_rows import RouteRow, route_rows
from postroad.core.audit.pictures.svg import write_svg
from postroad.core.codecs.xml_escape import attribute_value, text_value
from postroad.core.model.history import MessageHistory
from postroad.core.routing.explain.explanation import ExplainedCopy, RouteExplanation

MARGIN, INDENT = 24, 36
BOX_HEIGHT, GAP = 44, 26
HEADING_HEIGHT = 40
NAME_PX, NOTE_PX = 7.6, 6.2  # how wide a character is drawn, about
NAME_CHARS, NOTE_CHARS = 56, 90
MIN_WIDTH = 200
OVERLAP = 80  # of all boxes, however deep: there the way leads through

STYLE = """
  .heading { font-size: 14px; font-weight: 600; }
  .name { font-size: 13px; font-weight: 600; }
  .refused { fill: #b3261e; }
  .box { fill: #f3f6fb; stroke: #7b8aa5; }
  .sender { fill: #e3eefc; stroke: #3b6fb6; }
  .recipient { fill: #e2f4e7; stroke: #2e7d4f; stroke-width: 2; }
  .logical { fill: #ffffff; stroke: #7b8aa5; stroke-dasharray: 4 3; }
  .way { stroke: #3b6fb6; stroke-width: 2; fill: none; }
  .head { fill: #3b6fb6; }
  .brought { stroke: #9aa5b8; stroke-dasharray: 2 3; fill: none; }
  @media (prefers-color-scheme: dark) {
    .refused { fill: #ff8a80; }
    .logical { fill: #191e27; }
    .box { fill: #222733; stroke: #66738c; }
    .sender { fill: #1b2d47; stroke: #7fb0f5; }
    .recipient { fill: #17311f; stroke: #6cc28c; }
    .way { stroke: #7fb0f5; }
    .head { fill: #7fb0f5; }
    .brought { stroke: #66738c; }
  }
"""

POSITION_STYLE = """
  .here { fill: none; stroke: #b4530a; stroke-width: 3; }
  .pin { font-size: 11px; font-weight: 600; fill: #9a4600; }
  .here.taken { stroke: #2e7d4f; }
  .pin.taken { fill: #1d6a3f; }
  @media (prefers-color-scheme: dark) {
    .here { stroke: #f3b562; }
    .pin { fill: #f3b562; }
    .here.taken { stroke: #6cc28c; }
    .pin.taken { fill: #8fd8a9; }
  }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyPosition:
    """The service at which a copy is now, or where it ended."""

    service: str  # address
    turn: int  # which stop of its way that is, counted from 1
    words: str


NO_POSITIONS: Mapping[str, CopyPosition] = {}
POSITION_WORDS = {"queued": "current stop", "delivered": "delivered"}  # any other state is shown by its name


def find_copy_positions(message: MessageHistory) -> dict[str, CopyPosition]:
    """Return the current position of each copy, by recipient."""
    lasts = [(copy.recipient, len(copy.stops), copy.stops[-1]) for copy in message.copies if copy.stops]
    return {
        recipient: CopyPosition(
            service=stop.service, turn=turn, words=POSITION_WORDS.get(stop.state, f"{stop.state} here")
        )
        for recipient, turn, stop in lasts
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CopySection:
    """One copy's part of the picture: its rows, its vertical position, and the row where the copy is now."""

    copy: ExplainedCopy
    rows: list[RouteRow]
    top: int
    here: int | None = None
    words: str = ""

    @property
    def height(self) -> int:
        return HEADING_HEIGHT + len(self.rows) * (BOX_HEIGHT + GAP)

    def y(self, number: int) -> int:
        return self.top + HEADING_HEIGHT + number * (BOX_HEIGHT + GAP)


def explanation_svg(explanation: RouteExplanation, here: Mapping[str, CopyPosition] = NO_POSITIONS) -> str:
    """The picture of every copy's route, one below the other, and where each of them is."""
    sections = _sections(explanation, here)
    deepest = max((row.depth for section in sections for row in section.rows), default=0)
    wide = max(_box_width(sections), deepest * INDENT + OVERLAP)
    widths = [2 * MARGIN + deepest * INDENT + wide, *(_heading_width(section) for section in sections)]
    width = max(widths)
    height = sections[-1].top + sections[-1].height if sections else 2 * MARGIN
    rail = MARGIN + deepest * INDENT + (wide - deepest * INDENT) // 2
    drawn = [line for section in sections for line in _section(section, explanation.sender, wide, rail)]
    return write_svg(
        drawn,
        width=width,
        height=height,
        title=_title(explanation),
        description=_description(explanation),
        style=STYLE + (POSITION_STYLE if any(section.here is not None for section in sections) else ""),
    )


def _title(explanation: RouteExplanation) -> str:
    recipients = ", ".join(copy.recipient for copy in explanation.copies)
    return f"Route from {explanation.sender} to {recipients}"


def _description(explanation: RouteExplanation) -> str:
    told = [
        f"Not sent to {copy.recipient}: {copy.detail}"
        if copy.code
        else " to ".join([f"From {explanation.sender}", *copy.route])
        for copy in explanation.copies
    ]
    return ". ".join(told) + "."


def _sections(explanation: RouteExplanation, here: Mapping[str, CopyPosition]) -> list[CopySection]:
    sections: list[CopySection] = []
    top = MARGIN // 2
    for copy in explanation.copies:
        rows = [] if copy.code else route_rows(explanation.sender, copy)
        at = here.get(copy.recipient)
        number = _row_at(rows, at) if at is not None else None
        sections.append(
            CopySection(copy=copy, rows=rows, top=top, here=number, words=at.words if at is not None else "")
        )
        top += sections[-1].height
    return sections


def _row_at(rows: list[RouteRow], here: CopyPosition) -> int | None:
    """Return the row of the service where the copy is; if it occurs several times, the row of its turn or the last one."""
    found = [number for number, row in enumerate(rows) if row.service == here.service and row.turn is not None]
    return next((number for number in found if rows[number].turn == here.turn), found[-1] if found else None)


def _box_width(sections: list[CopySection]) -> int:
    widest = [
        max(NAME_PX * len(_name(row)) + (NAME_PX * (len(section.words) + 4) if number == section.here else 0),
            NOTE_PX * len(_note(row)))
        for section in sections for number, row in enumerate(section.rows)
    ]  # fmt: skip
    return max(MIN_WIDTH, round(max(widest, default=0)) + 28)


def _heading_width(section: CopySection) -> int:
    return 2 * MARGIN + round(NAME_PX * len(_heading(section.copy)) * 1.05)


def _section(section: CopySection, sender: str, wide: int, rail: int) -> Iterator[str]:
    refused = " refused" if section.copy.code else ""
    yield f'<text class="heading{refused}" x="{MARGIN}" y="{section.top + 24}">{text_value(_heading(section.copy))}</text>'
    yield from _invoker_lines(section)
    yield from _route_arrows(section, rail)
    for number, row in enumerate(section.rows):
        yield from _box(section, number, row, wide)


def _heading(copy: ExplainedCopy) -> str:
    return _cut(f"Not sent to {copy.recipient}: {copy.detail}" if copy.code else f"To {copy.recipient}", NOTE_CHARS)


def _x(row: RouteRow) -> int:
    return MARGIN + row.depth * INDENT


def _invoker_lines(section: CopySection) -> Iterator[str]:
    """Yield the dashed lines from each invoker to the services it added."""
    for number, row in enumerate(section.rows):
        if row.invoker is None:
            continue
        down = row.invoker < number
        begin = section.y(row.invoker) + (BOX_HEIGHT if down else 0)
        x, y = _x(section.rows[row.invoker]) + 14, section.y(number) + BOX_HEIGHT // 2
        yield f'<path class="brought" d="M{x} {begin}V{y}H{_x(row)}"/>'


def _route_arrows(section: CopySection, rail: int) -> Iterator[str]:
    """Yield the arrows from each service that receives the message to the next one."""
    turns = [number for number, row in enumerate(section.rows) if row.turn is not None or not number]
    for one, other in pairwise(turns):
        begin, end = section.y(one) + BOX_HEIGHT, section.y(other)
        yield f'<path class="way" d="M{rail} {begin}V{end - 7}"/>'
        yield f'<path class="head" d="M{rail - 5} {end - 8}h10l-5 8z"/>'


def _box(section: CopySection, number: int, row: RouteRow, wide: int) -> Iterator[str]:
    x, y = _x(row), section.y(number)
    last = row.turn == len(section.copy.route)
    kind = "sender" if not number else "logical" if row.turn is None else "recipient" if last else "box"
    is_here = number == section.here
    whole = "; ".join([row.service, *row.notes, *([section.words] if is_here else [])])
    yield f'<g aria-label="{attribute_value(whole)}"><title>{text_value(whole)}</title>'
    yield f'<rect class="{kind}" x="{x}" y="{y}" width="{wide}" height="{BOX_HEIGHT}" rx="7"/>'
    if is_here:
        yield from _pin(x, y, wide, section.words)
    yield f'<text class="name" x="{x + 14}" y="{y + 18}">{text_value(_name(row))}</text>'
    yield f'<text class="note" x="{x + 14}" y="{y + 34}">{text_value(_note(row))}</text></g>'


def _pin(x: int, y: int, wide: int, words: str) -> Iterator[str]:
    taken = " taken" if words == POSITION_WORDS["delivered"] else ""
    yield f'<rect class="here{taken}" x="{x - 3}" y="{y - 3}" width="{wide + 6}" height="{BOX_HEIGHT + 6}" rx="9"/>'
    yield f'<text class="pin{taken}" x="{x + wide - 10}" y="{y + 17}" text-anchor="end">● {text_value(words)}</text>'


def _name(row: RouteRow) -> str:
    return _cut(row.service if row.turn is None else f"{row.turn}. {row.service}", NAME_CHARS)


def _note(row: RouteRow) -> str:
    return _cut("; ".join(row.notes) if row.notes else "sender", NOTE_CHARS)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
