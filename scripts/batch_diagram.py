"""The picture of a batch's life, drawn from the table of moves, so that neither can change without the other."""

from __future__ import annotations

from typing import NamedTuple

from postroad.core.model.batch import BATCH_MOVES, BatchState
from scripts.delivery_diagram import HEAD, INK, LINE, PAPER

WIDTH, HEIGHT, BOX_WIDTH, BOX_HEIGHT = 900, 330, 120, 40
APART = 24  # half the room between two lines that go both ways
UPPER = 90  # the row whose loops stand above; those of the other stand below


class Point(NamedTuple):
    x: float
    y: float


PLACES = {
    BatchState.OPEN: Point(80, UPPER),
    BatchState.CLOSED: Point(330, UPPER),
    BatchState.ASSEMBLED: Point(580, UPPER),
    BatchState.SENT: Point(820, UPPER),
    BatchState.DISSOLVED: Point(80, 250),
    BatchState.SUSPENDED: Point(455, 250),
    BatchState.DROPPED: Point(820, 250),
}


def render() -> str:
    """Every state in its place, every move as an arrow, and those that lead back to their state as loops."""
    drawn = [_box(state) for state in BATCH_MOVES]
    for start, moves in BATCH_MOVES.items():
        for end in dict.fromkeys(moves.values()):
            words = ", ".join(move for move, leads_to in moves.items() if leads_to is end)
            drawn.append(_loop(start, words) if start is end else _arrow(start, end, words))
    ends = ", ".join(state.value for state, moves in BATCH_MOVES.items() if not moves)
    label = f"A batch begins {BatchState.OPEN.value} and ends {ends}"
    head = HEAD.format(width=WIDTH, height=HEIGHT, label=label, line=LINE, paper=PAPER, ink=INK)
    return head + "".join(drawn) + "</g>\n</svg>\n"


def _box(state: BatchState) -> str:
    x, y = PLACES[state]
    size = f'x="{x - BOX_WIDTH / 2:g}" y="{y - BOX_HEIGHT / 2:g}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6"'
    return f'<rect {size} fill="none" stroke="{INK}"/><text x="{x:g}" y="{y + 5:g}">{state.value}</text>\n'


def _arrow(start: BatchState, end: BatchState, words: str) -> str:
    """A straight line; beside the middle where another leads back."""
    begin, tip = PLACES[start], PLACES[end]
    dx, dy = tip.x - begin.x, tip.y - begin.y
    aside = (APART if dy < 0 else -APART) if start in BATCH_MOVES[end].values() else 0
    first, last = _edge(begin, dx, dy), _edge(tip, -dx, -dy)
    path = f"M{first.x + aside:.0f} {first.y:.0f}L{last.x + aside:.0f} {last.y:.0f}"
    line = f'<path d="{path}" stroke="{LINE}" marker-end="url(#tip)"/>'
    far = 0.5 if dx == 0 or dy == 0 else 0.3 if BATCH_MOVES[end] else 0.7  # away from where lines cross
    return line + _words(first.x + aside + (last.x - first.x) * far, first.y + (last.y - first.y) * far - 4, words)


def _edge(center: Point, dx: float, dy: float) -> Point:
    """Where a line from the middle of a box in this direction leaves the box."""
    share = min(BOX_WIDTH / 2 / abs(dx) if dx else 1.0, BOX_HEIGHT / 2 / abs(dy) if dy else 1.0)
    return Point(center.x + dx * share, center.y + dy * share)


def _loop(state: BatchState, words: str) -> str:
    x, y = PLACES[state]
    out = -1 if y == UPPER else 1
    edge = y + out * BOX_HEIGHT / 2
    path = f"M{x - 20:g} {edge:g}V{edge + out * 24:g}H{x + 20:g}V{edge + out * 2:g}"
    line = f'<path d="{path}" fill="none" stroke="{LINE}" marker-end="url(#tip)"/>'
    return line + _words(x, edge + out * 30 + (8 if out > 0 else 0), words)


def _words(x: float, y: float, words: str) -> str:
    halo = f'paint-order="stroke" stroke="{PAPER}" stroke-width="4"'
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="12" {halo}>{words}</text>\n'
