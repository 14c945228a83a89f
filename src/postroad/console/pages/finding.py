"""Where is my message? One box for everything by which a message can be known."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from postroad.console.context import caller_of, console_of
from postroad.console.guarding import member_page, show
from postroad.core.audit.telling_whereabouts import HOW_TO_ASK, KNOWN_BY, NOTHING
from postroad.flow.administration_finding import Findings, FoundBatch, FoundService, find

WORDS = {"known_by": KNOWN_BY, "nothing": NOTHING, "how_to_ask": HOW_TO_ASK}


async def show_found(request: Request) -> Response:
    """Straight to the one thing that is meant; a list where it could be several."""
    asked = request.query_params.get("q", "").strip()[:200]
    found = await find(console_of(request).network, caller_of(request), asked) if asked else Findings(things=[])
    if page := _page_of_what_is_meant(found):
        return RedirectResponse(page, 303)
    shown = {"asked": asked, "found": found.messages, "has_more": found.next_before is not None}
    return show(request, "find.html", WORDS | shown)


def _page_of_what_is_meant(found: Findings) -> str:
    """A service before anything else; a batch where no message is known by it, and so has its link to it."""
    match found.things:
        case [FoundService(service=service), *_]:
            return f"/directory/{service.gcid}"
        case [FoundBatch(batch=batch)]:
            return f"/batches/{batch.id}"
    messages = found.messages
    return f"/messages/{messages[0].session}" if len(messages) == 1 and found.next_before is None else ""


ROUTES = (member_page("/find", show_found),)
