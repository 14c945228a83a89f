"""The search page: one box for session IDs, handles, search keys, batches and services."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import member_page, render_page
from postroad.core.audit.history.status_text import NOTHING_FOUND, SEARCH_HINT, SEARCHABLE_VALUES
from postroad.flow.administration.messages.search import FoundBatch, FoundService, SearchResults, find

WORDS = {"known_by": SEARCHABLE_VALUES, "nothing": NOTHING_FOUND, "how_to_ask": SEARCH_HINT}


async def show_search_results(request: Request) -> Response:
    """Redirect to a single result, or list several."""
    asked = request.query_params.get("q", "").strip()[:200]
    found = await find(console_of(request).network, caller_of(request), asked) if asked else SearchResults(things=[])
    if page := _direct_path(found):
        return RedirectResponse(page, 303)
    shown = {"asked": asked, "found": found.messages, "has_more": found.next_before is not None}
    return render_page(request, "find.html", WORDS | shown)


def _direct_path(found: SearchResults) -> str:
    """Return the page of a single result: a service first, or a batch if no message has a link to it."""
    match found.things:
        case [FoundService(service=service), *_]:
            return f"/directory/{service.gcid}"
        case [FoundBatch(batch=batch)]:
            return f"/batches/{batch.id}"
    messages = found.messages
    return f"/messages/{messages[0].session}" if len(messages) == 1 and found.next_before is None else ""


ROUTES = (member_page("/find", show_search_results),)
