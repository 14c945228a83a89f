"""Draws the life of a message as SVG: one line per stop, with waiting and processing times.

Rule: the picture can be read in dark mode, without colours and by screen readers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from postroad.core.audit.pictures.svg import write_svg
from postroad.core.codecs.xml_escape import text_value
from postroad.core.model.history import CopyHistory, MessageHistory, Stop

WIDTH, LABEL, ROW, MARGIN = 900, 250, 34, 16
BAR = 14
MIN_WIDTH_PX = 3.0  # of a bar, so that it can be seen
NAME_CHARS = 34
STYLE = """
  .wait { fill: #c9d4e6; } .work { fill: #3b6fb6; } .mark { fill: #b3261e; } .axis { stroke: #9aa5b8; }
  @media (prefers-color-scheme: dark) { .wait { fill: #3a465c; } .work { fill: #7fb0f5; } .mark { fill: #ff8a80; } }
"""
FAILURES = frozenset({"push failed", "given back", "failed", "rejected"})
WORKING = frozenset({"handed out", "pushed"})
NEVER_US = 1 << 62
LEGEND = (("wait", "waiting"), ("work", "processing"), ("mark", "failed"))


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSpan:
    """A period in which a message waited or was being processed."""

    kind: str  # wait or work
    begin_us: int
    end_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StopLine:
    """One stop: its periods in order, and the times of failures."""

    service: str
    pieces: tuple[TimeSpan, ...]
    failures: tuple[int, ...]


def stop_lines(message: MessageHistory, now_us: int) -> list[StopLine]:
    """Return one line for each stop of all copies, starting when the message reached the stop."""
    return [line for copy in message.copies for line in _of_copy(message, copy, now_us)]


def _of_copy(message: MessageHistory, copy: CopyHistory, now_us: int) -> Iterator[StopLine]:
    arrived_us = message.at_us
    for stop in copy.stops:
        yield _line(stop, arrived_us, now_us)
        if stop.events:
            arrived_us = stop.events[-1].at_us


def _line(stop: Stop, arrived_us: int, now_us: int) -> StopLine:
    pieces: list[TimeSpan] = []
    since_us, works_until_us = arrived_us, 0
    for event in stop.events:
        pieces += _between(since_us, event.at_us, works_until_us)
        since_us = max(since_us, event.at_us)
        works_until_us = (event.until_us or NEVER_US) if event.what in WORKING else 0
    if stop.state == "queued":
        pieces += _between(since_us, now_us, works_until_us)
    failures = tuple([event.at_us for event in stop.events if event.what in FAILURES])
    return StopLine(service=stop.service, pieces=tuple(pieces), failures=failures)


def _between(since_us: int, end_us: int, works_until_us: int) -> Iterator[TimeSpan]:
    """Yield a processing period until the lease ends, then a waiting period."""
    works_until_us = min(works_until_us, end_us)
    if since_us < works_until_us:
        yield TimeSpan(kind="work", begin_us=since_us, end_us=works_until_us)
    if max(since_us, works_until_us) < end_us:
        yield TimeSpan(kind="wait", begin_us=max(since_us, works_until_us), end_us=end_us)


def waterfall_svg(message: MessageHistory, now_us: int) -> str:
    drawn = stop_lines(message, now_us)
    end_us = max([piece.end_us for line in drawn for piece in line.pieces], default=message.at_us)
    whole_us = max(1, end_us - message.at_us)
    height = MARGIN * 2 + ROW * max(1, len(drawn)) + 20
    words = ". ".join([_in_words(line) for line in drawn]) or "It has reached no service."
    rows = [text for number, line in enumerate(drawn) for text in _row(line, number, message.at_us, whole_us)]
    return write_svg(
        [*rows, *_axis(height, whole_us)],
        width=WIDTH,
        height=height,
        title="Timeline of the message",
        description=words,
        style=STYLE,
    )


def _row(line: StopLine, number: int, begin_us: int, whole_us: int) -> Iterator[str]:
    y = MARGIN + number * ROW
    name = line.service if len(line.service) <= NAME_CHARS else f"{line.service[: NAME_CHARS - 1]}…"
    yield f'<text class="note" x="{MARGIN}" y="{y + BAR}">{text_value(name)}</text>'
    for piece in line.pieces:
        x, end = _x(piece.begin_us - begin_us, whole_us), _x(piece.end_us - begin_us, whole_us)
        wide = max(MIN_WIDTH_PX, end - x)
        yield f'<rect class="{piece.kind}" x="{x:.1f}" y="{y + 2}" width="{wide:.1f}" height="{BAR}" rx="2"/>'
    for at_us in line.failures:
        yield f'<circle class="mark" cx="{_x(at_us - begin_us, whole_us):.1f}" cy="{y + 2 + BAR / 2:.1f}" r="4"/>'


def _axis(height: int, whole_us: int) -> Iterator[str]:
    y = height - 24
    yield f'<path class="axis" d="M{LABEL} {y}H{WIDTH - MARGIN}"/>'
    yield f'<text class="note" x="{LABEL}" y="{y + 16}">0</text>'
    yield f'<text class="note" x="{WIDTH - MARGIN}" y="{y + 16}" text-anchor="end">{_length(whole_us)}</text>'
    for number, (kind, word) in enumerate(LEGEND):
        x = MARGIN + number * 78
        yield f'<rect class="{kind}" x="{x}" y="{y + 7}" width="10" height="10" rx="{5 if kind == "mark" else 2}"/>'
        yield f'<text class="note" x="{x + 14}" y="{y + 16}">{word}</text>'


def _x(offset_us: int, whole_us: int) -> float:
    return LABEL + (WIDTH - MARGIN - LABEL) * max(0.0, min(1.0, offset_us / whole_us))


def _in_words(line: StopLine) -> str:
    waited = sum([piece.end_us - piece.begin_us for piece in line.pieces if piece.kind == "wait"])
    worked = sum([piece.end_us - piece.begin_us for piece in line.pieces if piece.kind == "work"])
    failed = f", {len(line.failures)} failures" if line.failures else ""
    return f"{line.service}: waited {_length(waited)}, processed for {_length(worked)}{failed}"


def _length(us: int) -> str:
    if us < 1_000:
        return f"{us} µs"
    if us < 1_000_000:
        return f"{us / 1_000:.0f} ms"
    seconds = us / 1_000_000
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"
