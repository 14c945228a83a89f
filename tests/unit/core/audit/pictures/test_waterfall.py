"""The life of a message as a picture: waits, work and failures, golden, accessible, and safe to show.

``python -m tests.unit.core.audit.pictures.test_waterfall`` writes the golden file again; look at it before you commit.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from postroad.core.audit.pictures.waterfall import StopLine, TimeSpan, stop_lines, waterfall_svg
from postroad.core.codecs import xml
from postroad.core.model.history import MessageHistory
from tests.unit.core.audit.history.test_copy_status import POSTED, event, message, stop

GOLDEN = Path(__file__).parent / "golden" / "life.svg"
SECOND = 1_000_000
SVG = "{http://www.w3.org/2000/svg}"


def life() -> MessageHistory:
    """Stamped after a lapse and a refusal, then pushed twice without success: it waits for the third time."""
    stamped = stop(
        event("handed out", POSTED + 2 * SECOND, until_us=POSTED + 4 * SECOND),
        event("handed out", POSTED + 5 * SECOND, until_us=POSTED + 35 * SECOND),
        event("answered", POSTED + 8 * SECOND),
        state="delivered",
        service="Stamps/In",
    )
    pushed = stop(event("push failed", POSTED + 9 * SECOND), event("push failed", POSTED + 14 * SECOND))
    return message(stamped, pushed)


NOW = POSTED + 20 * SECOND


def between(kind: str, begin_s: int, end_s: int) -> TimeSpan:
    return TimeSpan(kind=kind, begin_us=POSTED + begin_s * SECOND, end_us=POSTED + end_s * SECOND)


def test_a_line_tells_waits_work_and_failures_of_a_stop() -> None:
    assert stop_lines(life(), NOW) == [
        StopLine(
            service="Stamps/In",
            pieces=(between("wait", 0, 2), between("work", 2, 4), between("wait", 4, 5), between("work", 5, 8)),
            failures=(),
        ),
        StopLine(
            service="Acme/Supply",
            pieces=(between("wait", 8, 9), between("wait", 9, 14), between("wait", 14, 20)),
            failures=(POSTED + 9 * SECOND, POSTED + 14 * SECOND),
        ),
    ]


def test_a_picture_equals_the_stored_one() -> None:
    assert waterfall_svg(life(), NOW) == GOLDEN.read_text()


def test_the_waterfall_has_a_description_in_words() -> None:
    root = xml.parse(waterfall_svg(life(), NOW).encode())
    assert root.findtext(f"{SVG}desc") == (
        "Stamps/In: waited 3.0 s, processed for 5.0 s. Acme/Supply: waited 12.0 s, processed for 0 µs, 2 failures"
    )


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "</text></svg>", "x" * 500])
def test_no_name_breaks_out_of_the_picture(name: str) -> None:
    hostile = message(replace(stop(), service=name))
    root = xml.parse(waterfall_svg(hostile, NOW).encode())
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "title", "desc", "style", "rect", "text", "path", "circle",
    }  # fmt: skip


def test_a_message_that_has_reached_nobody_has_a_picture_too() -> None:
    assert "It has reached no service." in waterfall_svg(message(), NOW)


if __name__ == "__main__":
    GOLDEN.write_text(waterfall_svg(life(), NOW))
