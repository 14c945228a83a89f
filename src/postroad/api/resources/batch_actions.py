"""Batch actions: release, pause, resume and drop batches, and remove one message.

A batch's version is its ETag. A request with If-Match acts only on the version that the client has read; without it,
on the current batch, since messages may join at any moment.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from postroad.api.resources import batch_shapes as shapes
from postroad.api.resources.batches import BATCH, MEMBERS, details_answer
from postroad.api.resources.conditional import IfMatch, check_if_match
from postroad.api.resources.context import Api, ApiContext, Asking
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.model.caller import Caller
from postroad.flow.administration import batch_actions as steering
from postroad.flow.administration.batches import find_visible_batch
from postroad.flow.administration.dead_letters import MAX_NUMBER

router = APIRouter(route_class=GuardedRoute, tags=["batches"])

Delivery = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="Number of the delivery, as in the list of members")]


@router.post(BATCH + "/release", response_model=shapes.BatchDetails)
async def release_batch(
    api: Api, caller: Asking, batch: str, wish: shapes.SteeringWish, if_match: IfMatch = None
) -> Response:
    """Close an open batch now, even if its criteria are not met, and resume it if it was paused."""
    seen = await _seen(api, caller, batch, if_match)
    await steering.release(api.network, caller, batch, wish.reason, seen)
    return await details_answer(api, caller, batch)


@router.post(BATCH + "/hold", response_model=shapes.BatchDetails)
async def hold_batch(
    api: Api, caller: Asking, batch: str, wish: shapes.SteeringWish, if_match: IfMatch = None
) -> Response:
    """Pause a batch: it still gathers messages and closes as usual, but is not assembled."""
    seen = await _seen(api, caller, batch, if_match)
    await steering.hold(api.network, caller, batch, wish.reason, seen)
    return await details_answer(api, caller, batch)


@router.post(BATCH + "/let-go", response_model=shapes.BatchDetails)
async def let_batch_go(
    api: Api, caller: Asking, batch: str, wish: shapes.SteeringWish, if_match: IfMatch = None
) -> Response:
    """Hold a batch back no longer."""
    seen = await _seen(api, caller, batch, if_match)
    await steering.let_go(api.network, caller, batch, wish.reason, seen)
    return await details_answer(api, caller, batch)


@router.post(BATCH + "/resume", response_model=shapes.BatchDetails)
async def resume_batch(
    api: Api, caller: Asking, batch: str, wish: shapes.SteeringWish, if_match: IfMatch = None
) -> Response:
    """Resume a suspended batch: sends the same bytes if there are any and no member has left since, else assembles it again."""
    seen = await _seen(api, caller, batch, if_match)
    await steering.resume(api.network, caller, batch, wish.reason, seen)
    return await details_answer(api, caller, batch)


@router.post(BATCH + "/drop", response_model=shapes.BatchDetails)
async def drop_batch(
    api: Api, caller: Asking, batch: str, wish: shapes.ReasonedWish, if_match: IfMatch = None
) -> Response:
    """Drop a suspended batch: its members become dead letters, which can be resent."""
    seen = await _seen(api, caller, batch, if_match)
    await steering.drop(api.network, caller, batch, wish.reason, seen)
    return await details_answer(api, caller, batch)


@router.post(MEMBERS + "/{delivery}/take-out", response_model=shapes.BatchDetails)
async def take_member_out(
    api: Api, caller: Asking, batch: str, delivery: Delivery, wish: shapes.ReasonedWish, if_match: IfMatch = None
) -> Response:
    """Remove one message from a batch that is not being sent: it becomes a dead letter, the others continue."""
    seen = await _seen(api, caller, batch, if_match)
    number = api.network.tokens.pseudonyms.real_number(delivery)
    await steering.take_out(api.network, caller, batch, number, wish.reason, seen)
    return await details_answer(api, caller, batch)


async def _seen(api: ApiContext, caller: Caller, batch: str, if_match: str | None) -> int | None:
    """The version that the caller insists on, if any."""
    if not if_match or if_match.strip() == "*":
        return None
    current = await find_visible_batch(api.network, caller, batch)
    return check_if_match(if_match, current.version)
