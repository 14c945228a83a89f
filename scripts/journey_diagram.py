"""The picture of a journey's life, drawn from its table, so that neither can change without the other.

Each place where a journey can be is a card that lists what may happen there; arrows lead to where it goes on, and what ends it is
written in the card, with the state it ends in.
"""

from __future__ import annotations

from itertools import groupby

from postroad.core.model.delivery import DeliveryState
from postroad.core.routing.lifecycle import JOURNEY_LIFECYCLE, JourneyEvent, Waypoint
from scripts.delivery_diagram import HEAD, INK, LINE, PAPER

CARD_WIDTH, LINE_HEIGHT, GAP_X, GAP_Y, MARGIN = 290, 20, 190, 70, 20
PLACES: dict[Waypoint, tuple[int, int]] = {  # column and row
    Waypoint.IN_TRANSIT: (0, 0),
    Waypoint.AT_RECIPIENT: (1, 0),
    Waypoint.ASKED: (1, 1),
    Waypoint.RETURNING: (0, 1),
    Waypoint.AT_REQUESTER: (0, 2),
}
TINT = "#eef2f6"

Box = tuple[float, float, float]  # left, top, height


def render() -> str:
    boxes = _boxes()
    width = 2 * CARD_WIDTH + GAP_X + 2 * MARGIN
    height = max(top + tall for _, top, tall in boxes.values()) + MARGIN
    label = "A journey passes services, reaches its recipient, and comes back; each card says what may happen there"
    head = HEAD.format(width=width, height=f"{height:g}", label=label, line=LINE, paper=PAPER, ink=INK)
    cards = [_card(waypoint, boxes[waypoint]) for waypoint in JOURNEY_LIFECYCLE]
    arrows = [
        _arrow(boxes[waypoint], boxes[target], text)
        for waypoint in JOURNEY_LIFECYCLE
        for target, text in _onward(waypoint).items()
        if target is not waypoint
    ]
    return head + "".join(cards) + "".join(arrows) + "</g>\n</svg>\n"


def _boxes() -> dict[Waypoint, Box]:
    heights = {waypoint: LINE_HEIGHT * (len(_endings(waypoint)) + 1) + 24 for waypoint in JOURNEY_LIFECYCLE}
    tops: dict[int, float] = {}
    top = float(MARGIN)
    for row, waypoints in groupby(sorted(PLACES, key=lambda one: PLACES[one][1]), key=lambda one: PLACES[one][1]):
        tops[row] = top
        top += max(heights[one] for one in waypoints) + GAP_Y
    return {
        waypoint: (MARGIN + column * (CARD_WIDTH + GAP_X), tops[row], heights[waypoint])
        for waypoint, (column, row) in PLACES.items()
    }


def _endings(waypoint: Waypoint) -> list[str]:
    """What ends a journey here, with the state it ends in; and what leaves it where it is."""
    told: dict[str, list[JourneyEvent]] = {}
    for event, following in JOURNEY_LIFECYCLE[waypoint].items():
        for after in following:
            if isinstance(after, DeliveryState):
                told.setdefault(f"→ {after.name.lower()}", []).append(event)
            elif following == (waypoint,):
                told.setdefault("stays here", []).append(event)
    return [f"{', '.join(events)} {outcome}" for outcome, events in told.items()]


def _onward(waypoint: Waypoint) -> dict[Waypoint, str]:
    """Where a journey goes on to from here, and by what."""
    told: dict[Waypoint, list[str]] = {}
    for event, following in JOURNEY_LIFECYCLE[waypoint].items():
        for after in following:
            if isinstance(after, Waypoint) and following != (waypoint,):
                told.setdefault(after, []).append(event)
    return {after: ", ".join(events) for after, events in told.items()}


def _card(waypoint: Waypoint, box: Box) -> str:
    left, top, tall = box
    again = _onward(waypoint).get(waypoint)
    title = f"{waypoint} ↻" if again else str(waypoint)
    middle = left + CARD_WIDTH / 2
    lines = [f'<text x="{middle:g}" y="{top + 22:g}" font-weight="600">{title}</text>\n']
    for number, ending in enumerate(_endings(waypoint), 1):
        lines.append(f'<text x="{middle:g}" y="{top + 22 + number * LINE_HEIGHT:g}" font-size="12">{ending}</text>\n')
    size = f'x="{left:g}" y="{top:g}" width="{CARD_WIDTH}" height="{tall:g}" rx="8"'
    return f'<rect {size} fill="{TINT}" stroke="{INK}"/>\n' + "".join(lines)


def _arrow(begin: Box, end: Box, text: str) -> str:
    """From the side of one card to the side of another; the labels of slanted ones stand at their middle."""
    (left, top, tall), (to_left, to_top, to_tall) = begin, end
    middle, to_middle = left + CARD_WIDTH / 2, to_left + CARD_WIDTH / 2
    if left == to_left:
        x1 = x2 = middle
        y1, y2 = top + tall, to_top
    else:
        x1, x2 = (left + CARD_WIDTH, to_left) if to_left > left else (left, to_left + CARD_WIDTH)
        y1 = y2 = max(top, to_top) + min(tall, to_tall) / 2
        if top != to_top:
            y1, y2 = top + tall * 0.85, to_top + to_tall * 0.25
    line = f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" fill="none" stroke="{LINE}" marker-end="url(#tip)"/>'
    x, y = ((x1 + x2) / 2, (y1 + y2) / 2 - 8) if left != to_left else (to_middle + 8, (y1 + y2) / 2 + 4)
    anchor = ' text-anchor="start"' if left == to_left else ""
    halo = f'stroke="{PAPER}" stroke-width="4" paint-order="stroke"'  # keeps the line from running through the words
    return f'{line}<text x="{x:g}" y="{y:g}" font-size="12" {halo}{anchor}>{text}</text>\n'
