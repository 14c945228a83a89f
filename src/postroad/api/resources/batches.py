"""Lists and reads batches; the actions on them are in ``batch_actions``."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from postroad.api.pagination import CursorPage, PageQuery, question_key
from postroad.api.resources import batch_views as views
from postroad.api.resources.conditional import tag_of
from postroad.api.resources.context import Api, ApiContext, Asking, answer, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.model.caller import Caller
from postroad.core.resources.batches import BatchDetails, BatchMemberPage, BatchPage
from postroad.flow.administration import batches as reading

router = APIRouter(route_class=GuardedRoute, tags=["batches"])

BATCHES = "/v1/batches"
BATCH = BATCHES + "/{batch}"
MEMBERS = BATCH + "/members"


@router.get(BATCHES, **returns(BatchPage))
async def list_batches(
    request: Request, api: Api, caller: Asking, query: Annotated[views.BatchQuery, Query()]
) -> Response:
    """Batches of your batchers: those that are still to be sent, or those in a state; newest first."""
    asked = question_key(caller.name, request)
    before = api.cursors.read(asked, query.cursor) or reading.NEWEST
    wish = reading.BatchSearch(service=query.service, state=query.state, before=before, limit=query.limit)
    page = await reading.browse(api.network, caller, wish)
    following = api.cursors.write(asked, page.next_before) if page.next_before is not None else None
    now_us = api.network.clock.now_us()
    return page_answer(request, CursorPage([views.batch_view(one, now_us) for one in page.found], following))


@router.get(BATCH, **returns(BatchDetails))
async def read_batch(api: Api, caller: Asking, batch: str) -> Response:
    """One batch: the reading of every criterion, its interchange with control numbers, and the partner's acknowledgment."""
    return await details_answer(api, caller, batch)


@router.get(MEMBERS, **returns(BatchMemberPage))
async def list_batch_members(
    request: Request, api: Api, caller: Asking, batch: str, query: Annotated[PageQuery, Query()]
) -> Response:
    """All that ever joined a batch, in the order of arrival; those that have left it too."""
    asked, pseudonyms = question_key(caller.name, request), api.network.tokens.pseudonyms
    position = api.cursors.read(asked, query.cursor)
    after = pseudonyms.real_number(int(position)) if position else 0
    page = await reading.list_batch_members(api.network, caller, batch, after, query.limit)
    # A cursor can be read, and real numbers would tell hidden parties too much.
    following = (
        api.cursors.write(asked, str(pseudonyms.number(page.next_after))) if page.next_after is not None else None
    )
    return page_answer(request, CursorPage([views.member_view(member) for member in page.members], following))


async def details_answer(api: ApiContext, caller: Caller, batch: str) -> Response:
    """Return one complete batch as it is now; its version is the ETag."""
    shown = await reading.show(api.network, caller, batch)
    tag = tag_of(shown.seen.batch.version)
    return answer(views.details_view(shown, api.network.clock.now_us()), tag=tag)
