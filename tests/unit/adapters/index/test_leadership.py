"""Which node leads: one at a time, however many parts of it ask at the same moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from postroad.adapters.index.leadership import PostgresLeadership
from tests.waiting import eventually_async


@asynccontextmanager
async def two_nodes(dsn: str) -> AsyncIterator[tuple[PostgresLeadership, PostgresLeadership]]:
    first, second = PostgresLeadership(dsn), PostgresLeadership(dsn)
    try:
        yield first, second
    finally:
        await first.close()
        await second.close()


@pytest.mark.req("O3")
async def test_one_node_leads_until_it_ends(postgres_database: str) -> None:
    async with two_nodes(postgres_database) as (first, second):
        assert await first.acquire()
        assert not await second.acquire()
        assert await first.acquire()
        await first.close()
        assert await second.acquire()


async def test_who_leads_is_told_so_also_when_many_ask_at_once(postgres_database: str) -> None:
    """The index, expiry and every batcher of a node ask, each when it suits it; one that is told no stops working."""
    async with two_nodes(postgres_database) as (first, second):
        assert await asyncio.gather(*[first.acquire() for _ in range(20)]) == [True] * 20
        assert await asyncio.gather(*[second.acquire() for _ in range(20)]) == [False] * 20
        await first.close()
        assert await asyncio.gather(*[second.acquire() for _ in range(20)]) == [True] * 20


@pytest.mark.req("O3")
async def test_a_node_that_stands_still_does_not_lead_on(
    postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.adapters.index.leadership.MAX_SILENCE", "300ms")
    async with two_nodes(postgres_database) as (first, second):
        assert await first.acquire()
        assert not await second.acquire()
        await eventually_async(second.acquire)  # once the database has ended the silence
        assert not await first.acquire()
