"""The dead-letter pages: groups by service and cause, a preview of a resend, and resend or drop.

Rules: everything is shown before it is resent, including what the network would refuse; dropping requires a reason.
Many letters are processed in runs (``dead_letter_runs``).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import member_form, member_page, read_form, redirect, render_page
from postroad.core.delivery.dead_letters import MEANING, Cause
from postroad.core.model.dead_letter_actions import LETTER_ACTIONS
from postroad.core.model.directory import Role
from postroad.errors import Refused
from postroad.flow.administration import dead_letters as dealing
from postroad.flow.administration import dead_letters as reading
from postroad.flow.administration.base import not_found

PAGE = 50
MAX_REASON = 200


async def list_groups(request: Request) -> Response:
    console = console_of(request)
    groups, complete = await reading.list_letter_groups(console.network, caller_of(request), reading.DeadLetterSearch())
    rows = [(group, group.meaning, _query(group.service, Cause(group.cause))) for group in groups]
    values = {"rows": rows, "complete": complete, "total": sum(group.count for group in groups)}
    return render_page(request, "dead_letters.html", values)


async def show_group(request: Request) -> Response:
    """List the dead letters of one service and cause, a page at a time."""
    console, caller = console_of(request), caller_of(request)
    service, cause = read_group(request.query_params)
    pseudonyms = console.network.tokens.pseudonyms
    wish = reading.DeadLetterSearch(service=service, cause=cause, after=_after(request), limit=PAGE)
    page = await reading.browse(console.network, caller, wish)
    following = "" if page.next_after is None else f"&after={pseudonyms.number(page.next_after)}"
    values = {
        "service": service,
        "cause": cause,
        "meaning": MEANING[cause],
        "letters": [found.letter for found in page.found],
        "following": following,
        "query": _query(service, cause),
        "may_deal": may_handle_dead_letters(request),
    }
    return render_page(request, "dead_letters_group.html", values)


async def show_letter(request: Request) -> Response:
    return await _shown(request)


async def act_on_letter(request: Request) -> Response:
    """Resend or drop one dead letter."""
    console, number = console_of(request), request.path_params["delivery"]
    action = LETTER_ACTIONS.get(request.path_params["action"])
    if action is None:
        raise not_found()
    reason = (await read_form(request)).get("reason", "").strip()[:MAX_REASON]
    if action.needs_reason and not reason:
        return await _shown(request, drop_fault="Enter a reason for dropping it; it is recorded.")
    try:
        await dealing.act(console.network, caller_of(request), action, number, reason=reason)
    except Refused as refusal:
        return await _refused(request, refusal)
    return redirect(f"/dead-letters/{number}", action.done)


async def _refused(request: Request, refusal: Refused) -> Response:
    if refusal.code in ("not-found", "permission.denied"):
        raise refusal
    return await _shown(request, fault=refusal.detail)


async def _shown(request: Request, **faults: str) -> Response:
    console, caller, number = console_of(request), caller_of(request), request.path_params["delivery"]
    found = await reading.inspect(console.network, caller, number)
    letter, deals = found.letter, found.letter.is_open and may_handle_dead_letters(request)
    values: dict[str, Any] = {
        "letter": letter,
        "events": found.events,
        "parts": found.parts,
        "meaning": MEANING[letter.cause],
        "query": _query(letter.service, letter.cause),
        "preview": await dealing.preview_one(console.network, caller, number) if deals else None,
        "fault": "",
        "drop_fault": "",
    }
    return render_page(request, "dead_letter.html", values | faults, 422 if faults else 200)


def may_handle_dead_letters(request: Request) -> bool:
    caller = caller_of(request)
    return caller.has_role(caller.organization, Role.DEVELOPER)


def read_group(asked: Any) -> tuple[str, Cause]:
    """Return the group that an address or a form names."""
    try:
        cause = Cause(asked.get("cause", ""))
    except ValueError:
        raise not_found() from None
    service = asked.get("service", "")[:300]
    if not service:
        raise not_found()
    return service, cause


def _query(service: str, cause: Cause) -> str:
    return urlencode({"service": service, "cause": cause.value})


def _after(request: Request) -> int:
    """Return the page's start; addresses carry pseudonyms of numbers, which would reveal the traffic volume."""
    text = request.query_params.get("after", "")
    fits = text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= reading.MAX_NUMBER
    return console_of(request).network.tokens.pseudonyms.real_number(int(text)) if fits else 0


ROUTES = (
    member_page("/dead-letters", list_groups),
    member_page("/dead-letters/group", show_group),
    member_page("/dead-letters/{delivery:int}", show_letter),
    member_form("/dead-letters/{delivery:int}/{action}", act_on_letter),
)
