"""What differs between two stops is told as text, and costs no more than a moment."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from postroad.console.stop_contents import COMPARED_LINES, MAX_PARTS, READ_BYTES, SHOWN_CHARS, ShownPart, _shown
from postroad.core.model.message import Message, Part, Recipient
from postroad.flow.administration.messages import contents
from tests.samples.routing_organization import HOUSE
from tests.unit.console.inhabited import enter_all, inhabited


def shown(after: str | bytes, before: str | None) -> ShownPart:
    data = after.encode() if isinstance(after, str) else after
    return _shown(Part(id="1", content_type="text/plain", data=data), before)


def test_a_document_in_one_line_differs_by_its_elements() -> None:
    part = shown("<a><b>2</b><c/></a>", "<a><b>1</b><c/></a>")
    assert [pair for pair in part.diff if pair[0] in ("came", "went")] == [("went", "<b>1</b>"), ("came", "<b>2</b>")]


def test_json_is_compared_without_its_spacing() -> None:
    part = shown('{\n  "order": "PO-1",\n  "vat": 19,\n  "lines": [1, 2]\n}', '{"order":"PO-1","lines":[1,2]}')
    assert [pair for pair in part.diff if pair[0] in ("came", "went")] == [("came", '  "vat": 19,')]
    respaced = shown('{"a": 1}', '{"a":1}')
    assert (respaced.diff, respaced.is_respaced, respaced.is_same) == ((), True, False)
    assert not shown("[1", "[2").is_respaced


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
    begun = time.process_time()
    part = shown(second, first)
    assert time.process_time() - begun < 2
    assert 0 < len(part.diff) <= 3 * COMPARED_LINES


def test_a_long_text_is_text_wherever_it_is_cut() -> None:
    for lead in ("", "a", "ab", "abc"):
        part = shown(lead + "\U0001f600" * READ_BYTES, None)
        assert part.is_cut
        assert part.text.startswith(f"{lead}\U0001f600")
    assert shown("é".encode() * 9 + b"\xc3", None).text == ""  # its end is none


@pytest.mark.req("C2")
async def test_a_message_of_many_parts_is_looked_at_once_and_shown_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    async def looking(*asked: Any) -> bytes:
        looks.append(asked[-1])
        return await read(*asked)

    read = contents._body
    monkeypatch.setattr(contents, "_body", looking)
    async with inhabited(tmp_path) as found:
        parts = tuple(Part(id=f"p{number}", content_type="text/xml", data=b"<o/>") for number in range(MAX_PARTS + 7))
        message = Message(to=(Recipient(f"{HOUSE}/Desk"),), parts=parts)
        posted = await found.running.network.post(found.service(f"{HOUSE}/Buyer"), message)
        viewer = (await enter_all(found))["viewer"]
        page = (await viewer.get(f"/messages/{posted.session}/contents")).text
    assert page.count(">Download<") == MAX_PARTS
    assert "7 more parts are not shown here" in page
    assert len(looks) == 1
    assert looks[0].startswith(posted.session)
