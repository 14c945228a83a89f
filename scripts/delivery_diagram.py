"""The picture of a delivery's life, drawn from the table of moves, so that neither can change without the other."""

from __future__ import annotations

from postroad.core.model.delivery import DEALT_WITH, MOVES, DeliveryState

WIDTH, ROW, BOX_WIDTH, BOX_HEIGHT = 640, 70, 150, 40
LEFT, RIGHT = 60, WIDTH - BOX_WIDTH - 20
INK, PAPER, LINE = "#1f2933", "#ffffff", "#52606d"

HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{label}">
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0L8 4L0 8z" fill="{line}"/></marker></defs>
<rect width="{width}" height="{height}" fill="{paper}"/>
<g font-family="system-ui, sans-serif" font-size="14" fill="{ink}" text-anchor="middle">
"""


def render() -> str:
    """The start on the left with the moves that lead back to it, every other state on the right."""
    start, *others = MOVES
    assert not any(MOVES[state] for state in others), "a state that is left again needs a picture of another shape"
    height = ROW * len(others) + 20
    middle = height / 2
    boxes = [_box(start, LEFT, middle), _loop(_moves(start, start), middle)]
    for number, state in enumerate(others):
        y = 10 + ROW * (number + 0.5)
        boxes += [_box(state, RIGHT, y), _arrow(_moves(start, state), middle, y)]
        if state is DeliveryState.FAILED:
            boxes.append(_new_round(y, start))
    label = f"A delivery begins {start.name.lower()} and ends " + ", ".join(state.name.lower() for state in others)
    head = HEAD.format(width=WIDTH, height=height, label=label, line=LINE, paper=PAPER, ink=INK)
    return head + "".join(boxes) + "</g>\n</svg>\n"


def _new_round(y: float, start: DeliveryState) -> str:
    """What may be done about a delivery that failed: a dashed line to a new delivery, or nothing more."""
    again = ", ".join(what for what, leads_to in DEALT_WITH.items() if leads_to is start)
    aside = ", ".join(what for what, leads_to in DEALT_WITH.items() if leads_to is not start)
    low, begin, end = y + 14, RIGHT, LEFT + BOX_WIDTH + 2
    line = (
        f'<path d="M{begin} {low:g}H{end}" fill="none" stroke="{LINE}" stroke-dasharray="5 4" marker-end="url(#tip)"/>'
    )
    label = f'<text x="{(begin + end) / 2 + 40:g}" y="{low + 14:g}" font-size="12">{again}: a new delivery; or {aside}</text>\n'
    return line + label


def _moves(start: DeliveryState, end: DeliveryState) -> str:
    return ", ".join(move for move, leads_to in MOVES[start].items() if leads_to is end)


def _box(state: DeliveryState, x: float, y: float) -> str:
    size = f'x="{x:g}" y="{y - BOX_HEIGHT / 2:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"'
    rect = f'<rect {size} fill="none" stroke="{INK}"/>'
    return f'{rect}<text x="{x + BOX_WIDTH / 2:g}" y="{y + 5:g}">{state.name.lower()}</text>\n'


def _arrow(moves: str, from_y: float, to_y: float) -> str:
    begin, end = LEFT + BOX_WIDTH, RIGHT - 2
    line = f'<path d="M{begin} {from_y:g}C{begin + 60} {from_y:g} {begin + 20} {to_y:g} {begin + 90} {to_y:g}H{end}" '
    label = f'<text x="{(begin + 90 + end) / 2:g}" y="{to_y - 7:g}" font-size="12">{moves}</text>\n'
    return line + f'fill="none" stroke="{LINE}" marker-end="url(#tip)"/>' + label


def _loop(moves: str, y: float) -> str:
    top, x = y - BOX_HEIGHT / 2, LEFT + BOX_WIDTH / 2
    line = f'<path d="M{x - 25:g} {top:g}V{top - 30:g}H{x + 25:g}V{top - 2:g}" fill="none" stroke="{LINE}" '
    return line + f'marker-end="url(#tip)"/><text x="{x:g}" y="{top - 37:g}" font-size="12">{moves}</text>\n'
