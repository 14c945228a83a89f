"""The live updates of one browser: the changes since the last event, and repeated permission checks.

Rules: the parts that a stream sends are rendered by the page's templates. Nothing is sent twice. The viewer's
permissions are checked every few seconds, and before anything is sent after a change of the directory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from postroad.console.context import caller_of, console_of
from postroad.console.event_streams import StreamSlot, format_comment, format_event, is_server_stopping
from postroad.console.page_guards import log_in
from postroad.core.audit.pictures.traffic_bars import traffic_svg
from postroad.flow.live.feed import FRESH_S
from postroad.flow.live.view import LiveView

QUEUES_S = 3.0  # how old the lengths of queues may be, which are counted for all at once
ASKED_AGAIN_S = 5.0
SILENT_S = 14.0  # after which something is sent all the same
OVER = "Your session has ended. Log in again to continue."
TAKEN = "The live page is open in another tab of this browser. Continue here to use this tab."


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFilter:
    """The filter of a live view; empty fields select everything of the person's."""

    what: str
    service: str


def live_viewer(request: Request, asked: LiveFilter) -> LiveView:
    console = console_of(request)
    return LiveView(console.network, console.live, caller_of(request), asked.what, asked.service)


async def live_figures(request: Request, viewer: LiveView, fresh_s: float = 0.0) -> dict[str, Any]:
    console = console_of(request)
    traffic = viewer.traffic(console.now_us)
    return {
        "traffic": traffic,
        "pulse": traffic_svg(traffic.beats),
        "queues": await viewer.queues(fresh_s),
        "failures": viewer.failures(),
        "since_us": console.live.since_us,
        "skipped": console.live.skipped,
        "now_us": console.now_us,
    }


class LiveWatch:
    def __init__(self, request: Request, asked: LiveFilter) -> None:
        self._request = request
        self._asked = asked
        self._console = console_of(request)
        self._mark = request.headers.get("last-event-id", "") or request.query_params.get("since", "")
        self._figures = ""
        self._sight = live_viewer(request, asked)
        self._asked_at = self._told_at = self._now()
        self._asked_of = self._console.directory.version

    async def events(self, place: StreamSlot) -> AsyncGenerator[bytes, None]:
        """Yield all changes until the server, the browser session or the stream slot ends."""
        while not is_server_stopping(self._request):
            if place.is_taken.is_set():
                yield format_event("ended", TAKEN)
                return
            if not await self._is_welcome():
                yield format_event("ended", OVER)
                return
            for one in await self._news():
                self._told_at = self._now()
                yield one
            await place.rest()

    async def _is_welcome(self) -> bool:
        """Whether the session is still valid: no logout, no timeout, and the person still has permission."""
        version = self._console.directory.version
        if version == self._asked_of and self._now() - self._asked_at < ASKED_AGAIN_S:
            return True
        self._asked_of, self._asked_at = version, self._now()
        key = self._console.visits.key_in(self._request, self._console.now_us // 1_000_000)
        if not key or not await log_in(self._request, key):
            return False
        self._sight = live_viewer(self._request, self._asked)
        return True

    async def _news(self) -> list[bytes]:
        """Return the changes since the last event; after some silence, a keep-alive."""
        live, rendering = self._console.live, self._console.rendering
        await live.catch_up(FRESH_S)
        turns, self._mark = live.after(self._mark), live.mark
        fresh = await self._sight.rows(turns)
        drawn = rendering.text("live_figures.html", await live_figures(self._request, self._sight, QUEUES_S))
        news = []
        if fresh.rows:  # before the figures: a client with the figures' mark has the rows
            rows = rendering.text("live_rows.html", {"rows": fresh.rows, "left_out": fresh.left_out})
            news.append(format_event("rows", rows, self._mark))
        if drawn != self._figures:
            news.append(format_event("figures", drawn, self._mark))
        self._figures = drawn
        is_silent = not news and self._now() - self._told_at > SILENT_S
        return [format_comment("nothing new")] if is_silent else news

    def _now(self) -> float:
        return self._console.network.clock.monotonic()
