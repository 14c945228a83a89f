"""Batch actions: release, pause, resume and drop batches, and remove one message.

A batch's version is its ETag. A request with If-Match acts only on the version that the client has read; without it,
on the current batch, since messages may join at any moment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import APIRouter, Path, Response

from postroad.api.resources.batch_views import ReasonedWish, SteeringWish
from postroad.api.resources.batches import BATCH, details_answer
from postroad.api.resources.conditional import IfMatch, check_if_match
from postroad.api.resources.context import Api, ApiContext, Asking
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.model.batch_actions import BATCH_ACTIONS, BatchAction
from postroad.core.model.caller import Caller
from postroad.core.resources.batches import BatchDetails
from postroad.flow.administration.batch_actions import act
from postroad.flow.administration.batches import find_visible_batch
from postroad.flow.administration.dead_letters import MAX_NUMBER

router = APIRouter(route_class=GuardedRoute, tags=["batches"])

Delivery = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="Number of the delivery, as in the list of members")]


def _endpoint(action: BatchAction) -> Callable[..., Awaitable[Response]]:
    """Return the function behind an action's URL; FastAPI reads the parameters from its signature."""

    async def act_on_batch(
        api: Api, caller: Asking, batch: str, wish: SteeringWish, if_match: IfMatch = None
    ) -> Response:
        return await _act(api, caller, action, batch, if_match, wish.reason)

    async def act_with_reason(
        api: Api, caller: Asking, batch: str, wish: ReasonedWish, if_match: IfMatch = None
    ) -> Response:
        return await _act(api, caller, action, batch, if_match, wish.reason)

    async def act_on_member(
        api: Api, caller: Asking, batch: str, delivery: Delivery, wish: ReasonedWish, if_match: IfMatch = None
    ) -> Response:
        number = api.network.tokens.pseudonyms.real_number(delivery)
        return await _act(api, caller, action, batch, if_match, wish.reason, delivery=number)

    if action.of_member:
        return act_on_member
    return act_with_reason if action.needs_reason else act_on_batch


for one in BATCH_ACTIONS.values():
    for path in (one.path, *one.old_paths):
        router.add_api_route(
            BATCH + path,
            _endpoint(one),
            methods=["POST"],
            name=one.operation,
            description=one.description,
            include_in_schema=path == one.path,
            **returns(BatchDetails),
        )


async def _act(
    api: ApiContext,
    caller: Caller,
    action: BatchAction,
    batch: str,
    if_match: str | None,
    reason: str,
    *,
    delivery: int = 0,
) -> Response:
    seen = await _seen(api, caller, batch, if_match)
    await act(api.network, caller, action, batch, reason=reason, seen_version=seen, delivery=delivery)
    return await details_answer(api, caller, batch)


async def _seen(api: ApiContext, caller: Caller, batch: str, if_match: str | None) -> int | None:
    """The version that the caller insists on, if any."""
    if not if_match or if_match.strip() == "*":
        return None
    current = await find_visible_batch(api.network, caller, batch)
    return check_if_match(if_match, current.version)
