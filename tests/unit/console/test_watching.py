"""Whoever watches is asked who they are as soon as anything about people has changed, and not only every few seconds."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from starlette.requests import Request
from starlette.responses import Response

from postroad.bootstrap import open_network
from postroad.bootstrap.settings import Settings
from postroad.console import console, live_updates
from postroad.console.context import caller_of, console_of
from postroad.console.event_streams import StreamSlot
from postroad.console.live_updates import OVER, LiveFilter, LiveWatch
from postroad.console.page_guards import log_in
from postroad.core.identity import api_key
from postroad.core.model.directory import Person
from postroad.flow.administration import accounts
from postroad.flow.administration.base import Administration
from postroad.flow.registries.configuration import build_save
from postroad.testing.clocks import ShiftedClock

OPERATOR = Person(email="op@network.example", operator=True)
EVERYTHING = LiveFilter(what="", service="")


class StoppedClock(ShiftedClock):
    """Between two turns no time passes, so nobody is asked again because of that."""

    def monotonic(self) -> float:
        return self.ahead_s


@pytest.fixture
async def watched(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Administration, Request, str]]:
    settings = Settings(data=tmp_path_factory.mktemp("watched"), index="memory")
    async with open_network(settings, clock=StoppedClock()) as running:
        administration = Administration(running.network, running.passwords)
        await running.network.configuration.change("tests", [build_save(OPERATOR)])
        key, _ = await accounts.log_in(administration, OPERATOR)
        app = console(running, administration)
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/live/events",
            "query_string": b"",
            "headers": [],
            "app": app,
        }
        response, visits = Response(), app.state.console.visits
        visits.begin(Request(scope), response, key, running.network.clock.now_us() // 1_000_000)
        scope["headers"] = [(b"cookie", response.headers["set-cookie"].partition(";")[0].encode())]
        request = Request(scope)
        assert await log_in(request, key)
        yield administration, request, key


@asynccontextmanager
async def telling(request: Request) -> AsyncIterator[AsyncIterator[bytes]]:
    watch = LiveWatch(request, EVERYTHING)
    events = watch.events(StreamSlot(person="op", visit="visit", every_s=lambda: 0.0))
    assert b"event: figures" in await anext(events)
    yield events
    await events.aclose()


@pytest.mark.req("C4")
async def test_a_stream_ends_with_the_visit(watched: tuple[Administration, Request, str]) -> None:
    administration, request, key = watched
    async with telling(request) as events:
        await accounts.revoke(administration, OPERATOR, api_key.key_id(key) or "", "logout")
        assert await anext(events) == f"event: ended\ndata: {OVER}\n\n".encode()
        with pytest.raises(StopAsyncIteration):
            await anext(events)


@pytest.mark.req("C4")
async def test_a_stream_shows_what_its_person_may_see_now(
    watched: tuple[Administration, Request, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_updates, "ASKED_AGAIN_S", 1_000_000.0)
    _, request, _ = watched
    network = console_of(request).network
    async with telling(request) as events:
        assert caller_of(request).operator
        demoted = replace(OPERATOR, operator=False, organization="Oak")
        await network.configuration.change("tests", [build_save(demoted)])
        network.clock.ahead_s += 15  # type: ignore[attr-defined]  # so that something is said at all
        await anext(events)
        assert not caller_of(request).operator
