"""Lists of messages page by page: every message once, newest first, and each service asked no more often than needed."""

from __future__ import annotations

from typing import Any

import pytest

from postroad.core.model.caller import Caller
from postroad.core.model.message import Message, Part, Recipient
from postroad.flow.administration.messages import message_list as reading
from postroad.testing.network import MemoryNetwork, memory_network

HOUSES = ("A/in", "A/out", "A/desk")


async def _posted(made: MemoryNetwork, callers: dict[str, Caller]) -> list[str]:
    """Messages to and fro, and a burst to one of them alone."""
    ways = [("A/out", "A/in"), ("A/in", "A/desk"), ("A/desk", "A/out")] * 6 + [("A/out", "A/in")] * 30
    sessions = []
    for sender, to in ways:
        message = Message(to=(Recipient(to),), parts=(Part(id="1", content_type="text/plain", data=b"x"),))
        sessions.append((await made.network.post(callers[sender], message)).session)
    return sessions[::-1]


@pytest.mark.parametrize("box", ["sent", "received"])
@pytest.mark.parametrize("limit", [1, 7, 48, 50])
async def test_pages_follow_one_another_without_gaps(box: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PORTION", 9)
    async with memory_network() as made:
        callers = {name: await made.register(name) for name in HOUSES}
        expected = await _posted(made, callers)
        person = await made.enroll("owner@a.example", organization="A")
        found: list[str] = []
        before: int | None = reading.NEWEST
        while before is not None:
            page = await reading.browse(
                made.network, person, reading.MessageSearch(box=box, before=before, limit=limit)
            )
            assert 0 < len(page.rows) <= limit, "no page is empty"
            found += [row["message"].session for row in page.rows]
            before = page.next_before
        assert found == expected


async def test_a_page_asks_every_service_once_and_those_with_more_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    async with memory_network() as made:
        callers = {name: await made.register(name) for name in HOUSES}
        await _posted(made, callers)
        person = await made.enroll("owner@a.example", organization="A")
        query = made.network.index.query

        async def counted(name: str, *values: Any) -> Any:
            asked.append(name)
            return await query(name, *values)

        monkeypatch.setattr(made.network.index, "query", counted)
        page = await reading.browse(made.network, person, reading.MessageSearch(box="received", topic="nothing"))
    assert (page.rows, page.next_before) == ([], None)
    assert asked.count("received_by") == len(HOUSES), "all of each came with the first answer"
