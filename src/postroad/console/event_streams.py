"""Live streams: server-sent events, one stream per browser, with limits per person and organization.

Rules: a stream ends with its browser session, with the server, and when the same browser opens another. The number of
streams is limited per person, per organization (a quarter of all) and in total, and a client that disconnects frees
its stream at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from starlette.requests import ClientDisconnect, Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from postroad.console.rendering import HEADERS
from postroad.errors import Refused

PER_PERSON = 4  # browsers
PER_ORGANIZATION = 50
TOTAL = 200
EVERY_S = 1.0
FULL_RATE_STREAMS = 25  # streams; where more are open, each is updated less often, so that all together cost the same
TYPE = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StreamSlot:
    """An open stream."""

    person: str
    visit: str
    organization: str = ""
    every_s: Callable[[], float]
    is_taken: asyncio.Event = field(default_factory=asyncio.Event)  # by a newer stream of the same browser

    async def rest(self) -> None:
        """Wait for the next update, but no longer than the stream may stay open."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.is_taken.wait(), self.every_s())


class StreamSlots:
    def __init__(self) -> None:
        self._places: dict[str, StreamSlot] = {}  # by visit

    def every_s(self) -> float:
        """Return the seconds between updates of each stream."""
        return EVERY_S * max(1.0, len(self._places) / FULL_RATE_STREAMS)

    @asynccontextmanager
    async def place(self, person: str, visit: str, organization: str = "") -> AsyncIterator[StreamSlot]:
        """Hold a stream slot; raises Refused when a limit is reached."""
        self._check(person, visit, organization)
        before = self._places.pop(visit, None)
        if before is not None:
            before.is_taken.set()
        mine = self._places[visit] = StreamSlot(
            person=person, visit=visit, organization=organization, every_s=self.every_s
        )
        try:
            yield mine
        finally:
            if self._places.get(visit) is mine:
                del self._places[visit]

    def _check(self, person: str, visit: str, organization: str) -> None:
        others = [place for place in self._places.values() if place.visit != visit]
        if sum(place.person == person for place in others) >= PER_PERSON:
            raise Refused(
                "rate.exceeded",
                f"You have live pages open in {PER_PERSON} browsers; close one of them, then continue here",
            )
        if organization and sum(place.organization == organization for place in others) >= PER_ORGANIZATION:
            raise Refused(
                "rate.exceeded",
                f"{PER_ORGANIZATION} browsers of your organization have live pages open; close one of them first",
            )
        if len(others) >= TOTAL:
            raise Refused("rate.exceeded", "Too many live pages are open; reload the page to see the current state")


class EventStream(StreamingResponse):
    """The streaming response; a client that disconnects is not an error."""

    def __init__(self, events: AsyncGenerator[bytes, None]) -> None:
        super().__init__(events, headers=HEADERS | {"X-Accel-Buffering": "no"}, media_type=TYPE)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            with suppress(ClientDisconnect):
                await super().__call__(scope, receive, send)
        finally:
            await self._events.aclose()


def format_event(name: str, text: str, mark: str = "") -> bytes:
    """Format one event; line breaks in the text are kept."""
    lines = [f"event: {name}", *([f"id: {mark}"] if mark else []), *[f"data: {line}" for line in text.splitlines()]]
    return ("\n".join(lines) + "\n\n").encode()


def format_comment(text: str) -> bytes:
    return f": {text}\n\n".encode()


def is_server_stopping(request: Request) -> bool:
    """Return True if the server is shutting down."""
    asked = request.scope.get("extensions", {}).get("postroad.draining")
    return bool(asked is not None and asked())
