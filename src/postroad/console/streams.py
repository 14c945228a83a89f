"""Pages that go on telling: server-sent events, one stream for a browser.

Kept rules: a stream ends with the visit that it belongs to, with the server, and when the same browser opens another; one person
has a few, all together have a bounded number, and whoever leaves gives the place back at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from postroad.console.rendering import HEADERS
from postroad.errors import Refused

PER_PERSON = 4  # browsers
ALL = 500
TYPE = "text/event-stream"


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A stream that is open; eq by identity, since a browser's next one may look the same."""

    person: str
    visit: str
    is_taken: asyncio.Event = field(default_factory=asyncio.Event)  # by a newer stream of the same browser

    async def rest(self, seconds: float) -> None:
        """Wait, but no longer than the place is ours."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.is_taken.wait(), seconds)


class Streams:
    def __init__(self) -> None:
        self._places: dict[str, Place] = {}  # by visit

    @asynccontextmanager
    async def place(self, person: str, visit: str) -> AsyncIterator[Place]:
        """A place for as long as it lasts; raises Refused where there are too many."""
        self._check(person, visit)
        before = self._places.pop(visit, None)
        if before is not None:
            before.is_taken.set()
        mine = self._places[visit] = Place(person, visit)
        try:
            yield mine
        finally:
            if self._places.get(visit) is mine:
                del self._places[visit]

    def _check(self, person: str, visit: str) -> None:
        others = [place for place in self._places.values() if place.visit != visit]
        if sum(place.person == person for place in others) >= PER_PERSON:
            raise Refused(
                "rate.exceeded", f"You watch in {PER_PERSON} browsers already; close one of them, then go on here"
            )
        if len(others) >= ALL:
            raise Refused("rate.exceeded", "Too many people watch at once; load the page again to see how things stand")


class EventStream(StreamingResponse):
    """The answer; a client that leaves is no mistake of anybody's."""

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        super().__init__(events, headers=HEADERS | {"X-Accel-Buffering": "no"}, media_type=TYPE)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with suppress(ClientDisconnect):
                await super().__call__(scope, receive, send)
        finally:
            await self._events.aclose()


def event(name: str, text: str, mark: str = "") -> bytes:
    """One event; a text of several lines arrives as it is."""
    lines = [f"event: {name}", *([f"id: {mark}"] if mark else []), *[f"data: {line}" for line in text.splitlines()]]
    return ("\n".join(lines) + "\n\n").encode()


def comment(text: str) -> bytes:
    return f": {text}\n\n".encode()


def is_ending(request: Request) -> bool:
    """Whether the server is about to stop, and waits for what is being answered."""
    asked = request.scope.get("extensions", {}).get("postroad.draining")
    return bool(asked is not None and asked())
