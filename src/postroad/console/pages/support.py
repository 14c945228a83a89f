"""The support pages: requests about messages, answered by the operators."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.page_guards import member_form, member_page, read_form, redirect, render_page
from postroad.errors import Refused
from postroad.flow.administration import support as asking

MAX_SHOWN = 200


async def list_requests(request: Request) -> Response:
    console = console_of(request)
    found = asking.list_requests(caller_of(request), console.directory)
    return render_page(
        request, "support.html", {"requests": found[:MAX_SHOWN], "left_out": max(0, len(found) - MAX_SHOWN)}
    )


async def new_request(request: Request) -> Response:
    session = request.query_params.get("session", "")[:64]
    return render_page(
        request, "support_new.html", {"wish": {"subject": "", "text": "", "session": session}, "fault": "", "at": ""}
    )


async def open_request(request: Request) -> Response:
    console, form = console_of(request), await read_form(request)
    wish = {name: form.get(name, "") for name in ("subject", "text", "session")}
    try:
        opened = await asking.open_request(console.administration, caller_of(request), **wish)
    except Refused as refusal:
        if not refusal.pointer:
            raise
        return render_page(
            request, "support_new.html", {"wish": wish, "fault": refusal.detail, "at": refusal.pointer}, 422
        )
    return redirect(f"/support/{opened.id}", "Support request sent.")


async def show_request(request: Request) -> Response:
    return _shown(request)


async def write(request: Request) -> Response:
    console, form = console_of(request), await read_form(request)
    number, close = request.path_params["request_id"], "close" in form
    try:
        await asking.add_note(console.administration, caller_of(request), number, form.get("text", ""), close=close)
    except Refused as refusal:
        if not refusal.pointer:
            raise
        return _shown(request, refusal.detail, form.get("text", ""))
    return redirect(f"/support/{number}", "Request closed." if close else "Comment sent.")


def _shown(request: Request, fault: str = "", written: str = "") -> Response:
    found = asking.find_request(caller_of(request), console_of(request).directory, request.path_params["request_id"])
    values = {"request": found, "fault": fault, "written": written}
    return render_page(request, "support_request.html", values, 422 if fault else 200)


ROUTES = (
    member_page("/support", list_requests),
    member_page("/support/new", new_request),
    member_form("/support/new", open_request),
    member_page("/support/{request_id}", show_request),
    member_form("/support/{request_id}", write),
)
