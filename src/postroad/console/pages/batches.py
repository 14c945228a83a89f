"""The batch pages: contents, criteria and history; release, pause, resume and drop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from postroad.console.context import caller_of, console_of
from postroad.console.form_values import parse_number, refusal_errors
from postroad.console.page_guards import member_form, member_page, read_form, redirect, render_page
from postroad.console.pages.services import may_make_service
from postroad.core.batching.close_criteria import share_at
from postroad.core.model.batch import Batch, BatchState
from postroad.core.model.caller import Caller
from postroad.core.model.directory import Role
from postroad.core.visibility.batch_membership import number_ranges, partner_answer
from postroad.errors import Refused
from postroad.flow.administration import batch_actions as steering
from postroad.flow.administration import batches as reading
from postroad.flow.administration.base import not_found
from postroad.flow.administration.services import list_owned_services
from postroad.flow.network import Network

PAGE = 50
MEMBERS = 100
STATES = (
    ("", "still to be sent"),
    *((state.value, state.value) for state in BatchState),
    (reading.EVERY_STATE, "all of them"),
)

Step = Callable[[Network, Caller, str, str, int | None], Awaitable[Batch]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMove:
    """An action on a batch, and the states that allow it."""

    step: Step
    title: str
    told: str
    states: tuple[BatchState, ...]
    reasoned: bool = False  # nobody may do it without saying why
    held: bool | None = None  # only for those that are held back, or only for those that are not


LIVING = (BatchState.OPEN, BatchState.CLOSED)
MOVES = {
    "release": BatchMove(step=steering.release, title="Release it now", told="It goes as it is.", states=LIVING),
    "hold": BatchMove(
        step=steering.hold, title="Hold it back", told="It gathers, and is not sent.", states=LIVING, held=False
    ),
    "let-go": BatchMove(
        step=steering.let_go, title="Let it go", told="It is held back no longer.", states=LIVING, held=True
    ),
    "resume": BatchMove(step=steering.resume, title="Resume it", told="It continues.", states=(BatchState.SUSPENDED,)),
    "drop": BatchMove(
        step=steering.drop,
        title="Drop it",
        told="Its messages are dead letters now.",
        states=(BatchState.SUSPENDED,),
        reasoned=True,
    ),
}


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
    move = MOVES.get(asked["move"])
    if move is None:
        raise not_found()
    reason = form.get("reason", "").strip()
    if move.reasoned and not reason:
        return await _shown(request, "Enter a reason; it is recorded.")
    try:
        await move.step(console.network, caller_of(request), asked["batch"], reason, None)
    except Refused as refusal:
        return await _shown(request, refusal_errors(refusal)[0].detail)
    return redirect(f"/batches/{asked['batch']}", move.told)


async def take_out(request: Request) -> Response:
    console, form, asked = console_of(request), await read_form(request), request.path_params
    number, reason = parse_number(asked["delivery"]), form.get("reason", "").strip()
    if number is None:
        raise not_found()
    if not reason:
        return await _shown(request, "Enter a reason for removing the message; it is recorded.")
    real = console.network.tokens.pseudonyms.real_number(number)
    try:
        await steering.take_out(console.network, caller_of(request), asked["batch"], real, reason, None)
    except Refused as refusal:
        return await _shown(request, refusal_errors(refusal)[0].detail)
    return redirect(f"/batches/{asked['batch']}", "It is a dead letter now; the others continue.")


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
        "moves": _moves(shown.seen),
        "may_change": caller.has_role(_organization(shown, caller), Role.DEVELOPER),
        "may_leave": batch.state in (*LIVING, BatchState.SUSPENDED),
    }
    return render_page(request, "batch.html", values, 422 if fault else 200)


def _moves(seen: reading.ListedBatch) -> dict[str, BatchMove]:
    """Return the actions that are possible now; a batch without a running batcher can only be dropped."""
    batch = seen.batch
    if batch.state in LIVING and (seen.service is None or seen.service.batching is None):
        return {"drop": MOVES["drop"]}
    return {
        name: move
        for name, move in MOVES.items()
        if batch.state in move.states and (move.held is None or move.held is batch.held)
    }


def _organization(shown: reading.BatchReport, caller: Caller) -> str:
    service = shown.seen.service
    return service.organization if service is not None else caller.organization


ROUTES = (
    member_page("/batches", list_batches),
    member_page("/batches/{batch}", show_batch),
    member_form("/batches/{batch}/members/{delivery}/take-out", take_out),
    member_form("/batches/{batch}/{move}", steer),
)
