"""Streams of events: who has a place, what is sent over the wire, and that neither a visitor nor the server waits for one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from postroad.api.serve import serve
from postroad.bootstrap import RunningNetwork, open_network
from postroad.bootstrap.settings import Settings
from postroad.console import console
from postroad.console.event_streams import (
    EVERY_S,
    FULL_RATE_STREAMS,
    PER_ORGANIZATION,
    PER_PERSON,
    TOTAL,
    TYPE,
    StreamSlots,
    format_event,
)
from postroad.console.login_link import login_link
from postroad.errors import Refused
from postroad.testing.ports import free_port

WAIT_S = 10.0


@asynccontextmanager
async def served(running: RunningNetwork) -> AsyncIterator[str]:
    """The network with its console on a socket; the end is the server's own."""
    listening: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    serving = asyncio.create_task(
        serve(running, listening.set_result, pages=lambda administration: console(running, administration))
    )
    try:
        yield await asyncio.wait_for(listening, WAIT_S)
    finally:
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving


@pytest.mark.req("C4")
async def test_a_stream_begins_at_once_and_the_server_stops_without_waiting_for_it(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data", index="memory", host="127.0.0.1", port=free_port())
    browser = httpx2.AsyncClient(follow_redirects=True, trust_env=False)
    async with open_network(settings) as running, browser as client, AsyncExitStack() as stack:
        url = await stack.enter_async_context(served(running))
        page, _, once = (await login_link(running)).partition("?once=")
        await client.post(page, data={"once": once})
        assert str((await client.get(f"{url}/live/events")).url) == f"{url}/live"  # a page for who asks for no stream
        async with client.stream("GET", f"{url}/live/events", headers={"Accept": TYPE}) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            assert response.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in response.headers["content-security-policy"]
            lines = response.aiter_lines()
            assert await asyncio.wait_for(anext(lines), WAIT_S) == "retry: 3000"
            names = [line async for line in _until_data(lines)]
            assert "event: figures" in names
            began = asyncio.get_running_loop().time()
            stopping = asyncio.create_task(stack.aclose())
            rest = [line async for line in lines]
            assert not any("ended" in line for line in rest)  # whoever watches comes back by themselves
        await stopping
        assert asyncio.get_running_loop().time() - began < WAIT_S


async def _until_data(lines: AsyncIterator[str]) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        if line.startswith("data:"):
            return


async def test_a_newer_stream_of_the_same_browser_takes_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("postroad.console.event_streams.EVERY_S", 3_600.0)
    streams = StreamSlots()
    async with streams.place("p@x.example", "visit") as older:
        async with streams.place("p@x.example", "visit") as newer:
            await asyncio.wait_for(older.rest(), 30)  # at once: the place is not ours any more
            assert older.is_taken.is_set()
            assert not newer.is_taken.is_set()
        async with streams.place("p@x.example", "visit"):
            pass


async def test_one_person_has_a_few_and_all_together_a_bounded_number() -> None:
    streams = StreamSlots()
    async with AsyncExitStack() as stack:
        for place in range(PER_PERSON):
            await stack.enter_async_context(streams.place("p@x.example", f"visit {place}"))
        with pytest.raises(Refused, match="close one of them"):
            await stack.enter_async_context(streams.place("p@x.example", "another"))
        await stack.enter_async_context(streams.place("p@x.example", "visit 0"))  # in the place of its older one
        for place in range(TOTAL - PER_PERSON):
            await stack.enter_async_context(streams.place(f"p{place}@x.example", f"other {place}"))
        assert streams.every_s() == EVERY_S * TOTAL / FULL_RATE_STREAMS
        with pytest.raises(Refused, match="Too many live pages"):
            await stack.enter_async_context(streams.place("q@x.example", "last"))
    async with streams.place("p@x.example", "another"):
        assert streams.every_s() == EVERY_S


async def test_one_organization_has_a_quarter_of_all() -> None:
    streams = StreamSlots()
    async with AsyncExitStack() as stack:
        for place in range(PER_ORGANIZATION):
            await stack.enter_async_context(streams.place(f"p{place}@x.example", f"visit {place}", "X"))
        with pytest.raises(Refused, match=f"{PER_ORGANIZATION} browsers of your organization"):
            await stack.enter_async_context(streams.place("q@x.example", "another", "X"))
        await stack.enter_async_context(streams.place("p@y.example", "visit of Y", "Y"))


def test_a_text_cannot_begin_an_event_of_its_own() -> None:
    written = format_event("rows", "one\n\nevent: ended\rdata: two\u2028id: 3", "m.1").decode()
    assert written.endswith("\n\n")
    assert [line for line in written.splitlines() if not line.startswith("data: ")] == ["event: rows", "id: m.1", ""]
