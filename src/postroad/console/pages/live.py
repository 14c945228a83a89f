"""What happens now: traffic, queues, failures and the latest messages, told as they come.

Kept rules: the page itself has everything as of now, so it serves without scripts too; the stream sends the same parts, rendered
by the same templates, at most once a second; who watches is asked again every few seconds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.guarding import log_in, member_page, show
from postroad.console.streams import EventStream, Place, comment, event, is_ending
from postroad.core.audit.happenings import What
from postroad.core.audit.pulse import pulse_svg
from postroad.core.identity import api_key
from postroad.errors import Refused
from postroad.flow.administration_services import owned_services
from postroad.flow.live import FRESH_S
from postroad.flow.live_sight import LiveSight

EVERY_S = 1.0
QUEUES_S = 3.0  # how old the lengths of queues may be, which are counted for all at once
ASKED_AGAIN_S = 5  # turns after which it is asked who watches, and whether they still may
BEAT_S = 15  # turns of silence, after which something is sent all the same
ROWS = 50
AGAIN_MS = 3_000  # after which a browser that lost us comes back
OVER = "Your visit is over. Log in again to go on."
TAKEN = "This goes on in another tab of your browser. Continue here to have it back."


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    what: str
    service: str


async def live(request: Request) -> Response:
    console, caller, asked = console_of(request), caller_of(request), _asked(request)
    await console.live.catch_up()
    sight = _sight(request, asked)
    rows = await sight.rows(console.live.turns, ROWS)
    mark = console.live.mark
    values = await _figures(request, sight)
    values |= {
        "rows": rows.rows,
        "asked": asked,
        "kinds": list(What),
        "services": sorted([one.address for one in owned_services(caller, console.directory)], key=str.casefold),
        "stream": f"/live/events?{urlencode({'what': asked.what, 'service': asked.service})}",
        "mark": mark,
    }
    return show(request, "live.html", values)


async def events(request: Request) -> Response:
    return EventStream(_events(request, _asked(request)))


async def _events(request: Request, asked: Asked) -> AsyncGenerator[bytes, None]:
    console, person = console_of(request), caller_of(request).name
    yield f"retry: {AGAIN_MS}\n\n".encode()
    try:
        async with console.streams.place(person, api_key.key_id(request.state.key) or "") as place:
            async for one in _watched(request, asked, place):
                yield one
    except Refused as refusal:
        yield event("ended", refusal.detail)


async def _watched(request: Request, asked: Asked, place: Place) -> AsyncGenerator[bytes, None]:
    console = console_of(request)
    mark = request.headers.get("last-event-id", "") or request.query_params.get("since", "")
    turn, silent, before = 0, 0, ""
    sight = _sight(request, asked)
    while not is_ending(request):
        if place.is_taken.is_set():
            yield event("ended", TAKEN)
            return
        if turn and turn % ASKED_AGAIN_S == 0:
            if not await _still_there(request):
                yield event("ended", OVER)
                return
            sight = _sight(request, asked)
        await console.live.catch_up(FRESH_S)
        news, mark, before = await _news(request, sight, mark, before)
        silent = 0 if news else silent + 1
        if silent == BEAT_S:
            news, silent = [comment("nothing new")], 0
        for one in news:
            yield one
        turn += 1
        await place.rest(EVERY_S)


async def _news(request: Request, sight: LiveSight, mark: str, before: str) -> tuple[list[bytes], str, str]:
    """What has changed since; where that is nothing, nothing is sent."""
    console, news = console_of(request), []
    fresh = await sight.rows(console.live.after(mark), ROWS)
    mark = console.live.mark
    figures = console.rendering.text("live_figures.html", await _figures(request, sight, QUEUES_S))
    if figures != before:
        news.append(event("figures", figures, mark))
    if fresh.rows:
        rows = {"rows": fresh.rows, "left_out": fresh.left_out}
        news.append(event("rows", console.rendering.text("live_rows.html", rows), mark))
    return news, mark, figures


async def _figures(request: Request, sight: LiveSight, fresh_s: float = 0.0) -> dict[str, Any]:
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


async def _still_there(request: Request) -> bool:
    """Whether the visit has not ended: by logging out, by time, or because the person may no more."""
    console = console_of(request)
    key = console.visits.key_in(request, console.now_us // 1_000_000)
    return bool(key) and await log_in(request, key)


def _sight(request: Request, asked: Asked) -> LiveSight:
    console = console_of(request)
    return LiveSight(console.network, console.live, caller_of(request), asked.what, asked.service)


def _asked(request: Request) -> Asked:
    what = request.query_params.get("what", "")
    return Asked(what=what if what in list(What) else "", service=request.query_params.get("service", "")[:300])


ROUTES = (member_page("/live", live), member_page("/live/events", events))
