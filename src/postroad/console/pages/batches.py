"""The batch pages: contents, criteria and history; release, pause, resume and drop."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.form_values import parse_number, refusal_errors
from postroad.console.page_guards import member_form, member_page, read_form, redirect, render_page
from postroad.console.pages.services import may_make_service
from postroad.core.batching.close_criteria import share_at
from postroad.core.model.batch import BatchState
from postroad.core.model.batch_actions import REMOVE, find_batch_action, list_possible_actions
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.visibility.batch_membership import number_ranges, partner_answer
from postroad.errors import Refused
from postroad.flow.administration import batches as reading
from postroad.flow.administration.base import not_found
from postroad.flow.administration.batch_actions import act
from postroad.flow.administration.services import list_owned_services

PAGE = 50
MEMBERS = 100
STATES = (
    ("", "not sent yet"),
    *((state.value, state.value) for state in BatchState),
    (reading.EVERY_STATE, "all"),
)


async def list_batches(request: Request) -> Response:
    console, caller = console_of(request), caller_of(request)
    asked = {name: request.query_params.get(name, "")[:200] for name in ("service", "state")}
    wish = reading.BatchSearch(
        service=asked["service"],
        state=asked["state"] if asked["state"] in dict(STATES) else "",
        before=request.query_params.get("before", "")[:40] or reading.NEWEST,
        limit=PAGE,
    )
    page = await reading.browse(console.network, caller, wish)
    following = asked | {"before": page.next_before} if page.next_before is not None else None
    batchers = [one for one in list_owned_services(caller, console.directory) if one.batching is not None]
    values = {
        "rows": [(one, share_at(one.due, one.batch, console.now_us)) for one in page.found],
        "asked": asked,
        "states": STATES,
        "following": f"?{urlencode(following)}" if following else "",
        "batchers": sorted(batchers, key=lambda one: one.address.casefold()),
        "changeable": {one.gcid for one in batchers if caller.has_role(one.organization, Role.DEVELOPER)},
        "may_make": may_make_service(caller),
    }
    return render_page(request, "batches.html", values)


async def show_batch(request: Request) -> Response:
    return await _shown(request)


async def steer(request: Request) -> Response:
    console, form, asked = console_of(request), await read_form(request), request.path_params
    action, number = find_batch_action(asked["action"]), parse_number(asked.get("delivery", "0"))
    if action is None or number is None or action.of_member != ("delivery" in asked):
        raise not_found()
    reason = form.get("reason", "").strip()
    if action.needs_reason and not reason:
        return await _shown(request, "Enter a reason; it is recorded.")
    network, real = console.network, console.network.tokens.pseudonyms.real_number(number) if number else 0
    try:
        await act(network, caller_of(request), action, asked["batch"], reason=reason, delivery=real)
    except Refused as refusal:
        return await _shown(request, refusal_errors(refusal)[0].detail)
    return redirect(f"/batches/{asked['batch']}", action.done)


async def _shown(request: Request, fault: str = "") -> Response:
    console, caller, batch_id = console_of(request), caller_of(request), request.path_params["batch"]
    shown = await reading.show(console.network, caller, batch_id)
    batch, made, pseudonyms = shown.seen.batch, shown.known.assembled, console.network.tokens.pseudonyms
    after = parse_number(request.query_params.get("after", ""))
    page = await reading.list_batch_members(
        console.network, caller, batch_id, pseudonyms.real_number(after) if after else 0, MEMBERS
    )
    values: dict[str, Any] = {
        "fault": fault,
        "shown": shown,
        "batch": batch,
        "criteria": [(one, share_at(one, batch, console.now_us)) for one in shown.criteria],
        "made": made,
        "numbers": number_ranges(made) if made is not None else [],
        "answers": [partner_answer(one) for one in shown.known.answers],
        "members": page.members,
        "following": f"?after={pseudonyms.number(page.next_after)}" if page.next_after is not None else "",
        "actions": list_possible_actions(batch, is_gathering=_is_gathering(shown.seen)),
        "may_change": caller.has_role(_organization(shown, caller), Role.DEVELOPER),
        "may_leave": REMOVE.is_possible(batch),
    }
    return render_page(request, "batch.html", values, 422 if fault else 200)


def _is_gathering(seen: reading.ListedBatch) -> bool:
    return seen.service is not None and seen.service.batching is not None


def _organization(shown: reading.BatchReport, caller: Caller) -> str:
    service = shown.seen.service
    return service.organization if service is not None else caller.organization


ROUTES = (
    member_page("/batches", list_batches),
    member_page("/batches/{batch}", show_batch),
    member_form("/batches/{batch}/members/{delivery}/{action}", steer),
    member_form("/batches/{batch}/{action}", steer),
)
