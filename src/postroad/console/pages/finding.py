"""Where is my message? One box for everything by which a message can be known."""

from __future__ import annotations

from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from postroad.console.context import caller_of, console_of
from postroad.console.guarding import member_page, show
from postroad.errors import Refused
from postroad.flow.administration import visible_service
from postroad.flow.administration_batch_reading import visible_batch
from postroad.flow.administration_finding import FOUND_MOST, found_messages


async def find(request: Request) -> Response:
    """Straight to the one thing that is meant; a list where it could be several."""
    console, caller = console_of(request), caller_of(request)
    asked = request.query_params.get("q", "").strip()[:200]
    if not asked:
        return show(request, "find.html", {"asked": "", "found": [], "most": FOUND_MOST})
    try:
        service = visible_service(caller, console.directory, asked)
        return RedirectResponse(f"/directory/{service.gcid}", 303)
    except Refused:
        found = await found_messages(console.network, caller, asked)
    if not found and await _is_batch(request, asked):
        return RedirectResponse(f"/batches/{quote(asked, safe='')}", 303)
    if len(found) == 1:
        return RedirectResponse(f"/messages/{found[0].session}", 303)
    return show(request, "find.html", {"asked": asked, "found": found, "most": FOUND_MOST})


async def _is_batch(request: Request, asked: str) -> bool:
    """Whether it is the id of a batch that the person may see, of which no interchange was made yet."""
    try:
        await visible_batch(console_of(request).network, caller_of(request), asked)
    except Refused:
        return False
    return True


ROUTES = (member_page("/find", find),)
