"""Lists of messages page by page: every message once, newest first, and each service asked no more often than needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from postroad.core.model.directory import Visibility
from postroad.flow.administration.messages import message_list as reading
from postroad.testing import Scenario

SERVICES = ("A/in", "A/out", "A/desk")
OWNER = "owner@a.example"


@pytest.fixture
async def scenario() -> AsyncIterator[Scenario]:
    async with Scenario() as scenario:
        for address in SERVICES:
            await scenario.service(address, visibility=Visibility.PRIVATE)
        await scenario.person(OWNER, "A")
        yield scenario


async def post_many(scenario: Scenario) -> list[str]:
    """Post messages in all directions, then many to one service; returns their sessions, newest first."""
    ways = [("A/out", "A/in"), ("A/in", "A/desk"), ("A/desk", "A/out")] * 6 + [("A/out", "A/in")] * 30
    return [(await scenario.post(sender, to, "x")).session for sender, to in ways][::-1]


@pytest.mark.parametrize("box", ["sent", "received"])
@pytest.mark.parametrize("limit", [1, 7, 48, 50])
async def test_pages_follow_one_another_without_gaps(
    scenario: Scenario, box: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PORTION", 9)
    expected = await post_many(scenario)
    found: list[str] = []
    before: int | None = reading.NEWEST
    while before is not None:
        search = reading.MessageSearch(box=box, before=before, limit=limit)
        page = await reading.browse(scenario.network, scenario.caller(OWNER), search)
        assert 0 < len(page.rows) <= limit, "no page is empty"
        found += [row["message"].session for row in page.rows]
        before = page.next_before
    assert found == expected


async def test_a_page_asks_every_service_once_and_those_with_more_again(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    await post_many(scenario)
    query = scenario.network.index.query

    async def counted(name: str, *values: Any) -> Any:
        asked.append(name)
        return await query(name, *values)

    monkeypatch.setattr(scenario.network.index, "query", counted)
    search = reading.MessageSearch(box="received", topic="nothing")
    page = await reading.browse(scenario.network, scenario.caller(OWNER), search)
    assert (page.rows, page.next_before) == ([], None)
    assert asked.count("received_by") == len(SERVICES), "all of each came with the first answer"
