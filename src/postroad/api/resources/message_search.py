"""Message search for programs: the same query and results as the console's search box."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, StrictStr, StringConstraints

from postroad.api.pagination import CursorPage, PageQuery, question_key
from postroad.api.resources.context import Api, Asking, page_answer, time_or_none
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.audit.history.copy_status import CopyStatus
from postroad.core.audit.history.status_text import status_text
from postroad.core.codecs.lexical import write_time
from postroad.core.model.snapshot import Directory
from postroad.core.resources.base import build_resource
from postroad.core.resources.messages import (
    Found,
    FoundBatchView,
    FoundMessageView,
    FoundPage,
    FoundServiceView,
    WhereaboutsView,
)
from postroad.flow.administration.messages import search as finding

router = APIRouter(route_class=GuardedRoute, tags=["messages"])

SOMETHING = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"  # a line that is not blank


class FindQuery(PageQuery):
    q: Annotated[
        StrictStr,
        StringConstraints(min_length=1, max_length=finding.MAX_ASKED, pattern=SOMETHING),
        Field(
            description="Complete search key: session ID, token, handle, control number, a partner's reference, the ID of a "
            "batch, a declared search key; or the GCID or address of a service"
        ),
    ]


@router.get("/v1/find", **returns(FoundPage))
async def find(request: Request, api: Api, caller: Asking, query: Annotated[FindQuery, Query()]) -> Response:
    """Find everything that a text identifies: a service, a batch, then messages, newest first.

    If a single message is found, its status is added for each recipient: where it is, since when, and what happens
    next and when. What you may not see is treated as if it did not exist.
    """
    asked, pseudonyms = question_key(caller.name, request), api.network.tokens.pseudonyms
    position = api.cursors.read(asked, query.cursor)
    before = pseudonyms.real_number(int(position)) if position else finding.FIRST
    found = await finding.find(api.network, caller, query.q, before, query.limit)
    # A cursor can be read, and real numbers would tell hidden parties too much.
    last = found.next_before
    following = api.cursors.write(asked, str(pseudonyms.number(last))) if last is not None else None
    return page_answer(request, CursorPage([_view(one, api.network.directory) for one in found.things], following))


def _view(found: finding.SearchResult, directory: Directory) -> Found:
    by = list(found.by)
    match found:
        case finding.FoundService(service=service):
            return FoundServiceView(gcid=service.gcid, address=service.address, by=by)
        case finding.FoundBatch(batch=batch):
            address = directory.address_of(batch.service)
            return FoundBatchView(id=batch.id, service=address, state=batch.state.value, by=by)
        case finding.FoundMessage():
            return build_resource(
                FoundMessageView,
                found,
                by=by,
                at=write_time(found.at_us),
                recipients=list(found.recipients),
                whereabouts=[_whereabouts_view(one) for one in found.whereabouts],
            )


def _whereabouts_view(one: CopyStatus) -> WhereaboutsView:
    return build_resource(
        WhereaboutsView,
        one,
        since=time_or_none(one.since_us),
        next_at=time_or_none(one.next_us),
        expires_at=time_or_none(one.expires_us),
        text=status_text(one),
    )
