"""The live page: traffic, queues, failures and the latest messages, updated by a stream.

Rule: the page itself has the current state, so it works without scripts; with them ``live_updates`` keeps it current.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.event_streams import TYPE, EventStream, format_event
from postroad.console.live_updates import LiveFilter, LiveWatch, live_figures, live_viewer
from postroad.console.page_guards import member_page, redirect, render_page
from postroad.core.audit.live_events import LiveEventKind
from postroad.core.identity import api_key
from postroad.errors import Refused, Unavailable
from postroad.flow.administration.services import list_owned_services

AGAIN_MS = 3_000  # delay after which a browser reconnects


async def live(request: Request) -> Response:
    console, caller, asked = console_of(request), caller_of(request), _asked(request)
    await console.live.catch_up()
    turns, mark = list(console.live.turns), console.live.mark
    viewer = live_viewer(request, asked)
    values = await live_figures(request, viewer)
    latest = await viewer.rows(turns, newest=True)
    values |= {
        "rows": latest.rows,
        "earlier": latest.left_out,
        "asked": asked,
        "kinds": list(LiveEventKind),
        "services": sorted([one.address for one in list_owned_services(caller, console.directory)], key=str.casefold),
        "stream": f"/live/events?{urlencode({'what': asked.what, 'service': asked.service})}",
        "mark": mark,
    }
    return render_page(request, "live.html", values)


async def events(request: Request) -> Response:
    """Return the event stream to clients that request one, otherwise redirect to the page."""
    if TYPE not in request.headers.get("accept", ""):
        return redirect("/live")
    return EventStream(_events(request, LiveWatch(request, _asked(request))))


async def _events(request: Request, watch: LiveWatch) -> AsyncGenerator[bytes, None]:
    streams, caller = console_of(request).streams, caller_of(request)
    yield f"retry: {AGAIN_MS}\n\n".encode()
    try:
        async with streams.place(
            caller.name, api_key.key_id(request.state.key) or "", caller.organization.casefold()
        ) as place:
            async for one in watch.events(place):
                yield one
    except Refused as refusal:
        yield format_event("ended", refusal.detail)
    except Unavailable:  # the browser reconnects, and continues from its last event
        return


def _asked(request: Request) -> LiveFilter:
    what = request.query_params.get("what", "")
    return LiveFilter(
        what=what if what in list(LiveEventKind) else "", service=request.query_params.get("service", "")[:300]
    )


ROUTES = (member_page("/live", live), member_page("/live/events", events))
