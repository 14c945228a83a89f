"""One browser that watches: what it has been told, what is new since, and whether it still may.

Kept rules: the parts that a stream sends are rendered by the same templates as the page; nothing is sent twice; who watches is
asked again every few seconds, and before anything is told after a change of the directory; then what they may see is looked at
anew.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from postroad.console.context import caller_of, console_of
from postroad.console.guarding import log_in
from postroad.console.streams import Place, comment, event, is_ending
from postroad.core.audit.pulse import pulse_svg
from postroad.flow.live import FRESH_S
from postroad.flow.live_sight import LiveSight

QUEUES_S = 3.0  # how old the lengths of queues may be, which are counted for all at once
ASKED_AGAIN_S = 5.0
SILENT_S = 14.0  # after which something is sent all the same
OVER = "Your visit is over. Log in again to go on."
TAKEN = "This goes on in another tab of your browser. Continue here to have it back."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What somebody wants to see; empty: everything of theirs."""

    what: str
    service: str


def sight_of(request: Request, asked: Asked) -> LiveSight:
    console = console_of(request)
    return LiveSight(console.network, console.live, caller_of(request), asked.what, asked.service)


async def figures(request: Request, sight: LiveSight, fresh_s: float = 0.0) -> dict[str, Any]:
    console = console_of(request)
    traffic = sight.traffic(console.now_us)
    return {
        "traffic": traffic,
        "pulse": pulse_svg(traffic.beats),
        "queues": await sight.queues(fresh_s),
        "failures": sight.failures(),
        "since_us": console.live.since_us,
        "skipped": console.live.skipped,
        "now_us": console.now_us,
    }


class Watch:
    def __init__(self, request: Request, asked: Asked) -> None:
        self._request = request
        self._asked = asked
        self._console = console_of(request)
        self._mark = request.headers.get("last-event-id", "") or request.query_params.get("since", "")
        self._figures = ""
        self._sight = sight_of(request, asked)
        self._asked_at = self._told_at = self._now()
        self._asked_of = self._console.directory.version

    async def events(self, place: Place) -> AsyncGenerator[bytes, None]:
        """Everything from the mark on, until the server, the visit or the place is over."""
        while not is_ending(self._request):
            if place.is_taken.is_set():
                yield event("ended", TAKEN)
                return
            if not await self._is_welcome():
                yield event("ended", OVER)
                return
            for one in await self._news():
                self._told_at = self._now()
                yield one
            await place.rest()

    async def _is_welcome(self) -> bool:
        """Whether the visit has not ended: by logging out, by time, or because the person may no more."""
        version = self._console.directory.version
        if version == self._asked_of and self._now() - self._asked_at < ASKED_AGAIN_S:
            return True
        self._asked_of, self._asked_at = version, self._now()
        key = self._console.visits.key_in(self._request, self._console.now_us // 1_000_000)
        if not key or not await log_in(self._request, key):
            return False
        self._sight = sight_of(self._request, self._asked)
        return True

    async def _news(self) -> list[bytes]:
        """What has changed since; after some silence at least a sign of life."""
        live, rendering = self._console.live, self._console.rendering
        await live.catch_up(FRESH_S)
        turns, self._mark = live.after(self._mark), live.mark
        fresh = await self._sight.rows(turns)
        drawn = rendering.text("live_figures.html", await figures(self._request, self._sight, QUEUES_S))
        news = []
        if fresh.rows:  # before the figures: whoever has these with their mark has the rows
            rows = rendering.text("live_rows.html", {"rows": fresh.rows, "left_out": fresh.left_out})
            news.append(event("rows", rows, self._mark))
        if drawn != self._figures:
            news.append(event("figures", drawn, self._mark))
        self._figures = drawn
        is_silent = not news and self._now() - self._told_at > SILENT_S
        return [comment("nothing new")] if is_silent else news

    def _now(self) -> float:
        return self._console.network.clock.monotonic()
