"""What differs between two stops is told as text, and costs no more than a moment."""

from __future__ import annotations

import random
import time

from postroad.console.changes_at_stops import COMPARED_LINES, SHOWN_CHARS, ShownPart, _shown
from postroad.flow.administration_contents import PartRead


def shown(after: str | bytes, before: str | None) -> ShownPart:
    data = after.encode() if isinstance(after, str) else after
    return _shown("1", PartRead(content_type="text/plain", data=data), before)


def test_a_document_in_one_line_differs_by_its_elements() -> None:
    part = shown("<a><b>2</b><c/></a>", "<a><b>1</b><c/></a>")
    assert [pair for pair in part.diff if pair[0] in ("came", "went")] == [("went", "<b>1</b>"), ("came", "<b>2</b>")]


def test_what_is_the_same_new_or_no_text_has_no_changes() -> None:
    assert shown("<a/>", "<a/>").diff == shown("<a/>", None).diff == shown(b"\xff\x00", "<a/>").diff == ()


def test_only_what_can_be_compared_whole_is_said_to_be_the_same() -> None:
    assert shown("<a/>", "<a/>").is_same
    long = "x" * (SHOWN_CHARS + 1)
    assert not any(part.is_same for part in (shown("<a/>", None), shown(b"\xff", ""), shown(long, long[:SHOWN_CHARS])))


def test_texts_that_are_hard_to_compare_are_compared_as_far_as_that_takes_a_moment() -> None:
    chosen = random.Random(1)
    first, second = (
        "\n".join(chosen.choice("abcdefgh") + chosen.choice("abcdefgh") for _ in range(13_000)) for _ in range(2)
    )
    begun = time.perf_counter()
    part = shown(second, first)
    assert time.perf_counter() - begun < 2
    assert 0 < len(part.diff) <= 3 * COMPARED_LINES
