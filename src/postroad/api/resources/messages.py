"""Messages for their parties: lists, the status of each message, its whole history, and its parts.

Posting and polling are served elsewhere, on the HTTP front's fast routes (``api/messages.py``).
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, model_validator

from postroad.api.pagination import CursorPage, PageQuery, question_key
from postroad.api.resources.context import Api, Asking, answer, page_answer, run_for_copies
from postroad.api.resources.message_views import refused_view, status_view, summary, trace_view
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SESSION
from postroad.api.resources.route_guards import HistoryRoute, PayloadRoute
from postroad.api.resources.stop_contents import part_answer
from postroad.core.configuration.shapes import Line
from postroad.core.resources.histories import Trace
from postroad.core.resources.messages import MessagePage, MessageStatus
from postroad.errors import Refused
from postroad.flow.administration.messages import contents
from postroad.flow.administration.messages import message_list as reading

router = APIRouter(route_class=HistoryRoute, tags=["messages"])
payloads = APIRouter(route_class=PayloadRoute, tags=["messages"])

Box = Literal["sent", "received", "refused"]
Kind = Literal["", "request", "response", "notification", "acknowledgement", "cancel"]
StateName = Literal["", "queued", "delivered", "rejected", "failed", "expired", "cancelled"]


class MessageQuery(PageQuery):
    box: Box = "sent"
    service: Annotated[Line, Field(description="GCID or address; default: all of your services")] = ""
    type: Kind = ""
    topic: Line = ""
    state: Annotated[StateName, Field(description="State of received messages")] = ""

    @model_validator(mode="after")
    def check_filters(self) -> Self:
        if self.state and self.box != "received":
            raise ValueError("state applies only to received messages; use it with box=received")
        if self.box == "refused" and (self.type or self.topic):
            raise ValueError("type and topic apply only to accepted messages; omit both with box=refused")
        return self


@router.get("/v1/messages", **returns(MessagePage))
async def list_messages(
    request: Request, api: Api, caller: Asking, query: Annotated[MessageQuery, Query()]
) -> Response:
    """Messages that your services sent, received, or were refused; newest first."""
    asked = question_key(caller.name, request)
    position = api.cursors.read(asked, query.cursor)
    pseudonyms = (
        api.network.tokens.pseudonyms
    )  # a cursor can be read, and real numbers would tell hidden parties too much
    wish = reading.MessageSearch(
        box=query.box,
        service=query.service,
        type=query.type,
        topic=query.topic,
        state=query.state,
        before=pseudonyms.real_number(int(position)) if position else reading.NEWEST,
        limit=query.limit,
    )
    found = await reading.browse(api.network, caller, wish)
    last = found.next_before
    following = api.cursors.write(asked, str(pseudonyms.number(last))) if last is not None else None
    views = [summary(query.box, row, api.network.directory) for row in found.rows]
    return page_answer(request, CursorPage(views, following))


@router.get(SESSION, **returns(MessageStatus))
async def read_message(api: Api, caller: Asking, session: str) -> Response:
    """The status of a message for each recipient, in plain words."""
    try:
        found = await reading.load_message(api.network, caller, session)
        return await run_for_copies(api, caller, len(found.copies), lambda: answer(status_view(found)))
    except Refused as refusal:
        if refusal.code != "not-found":
            raise
    row = await reading.find_refusal(api.network, caller, session)
    return answer(refused_view(row, api.network.directory))


@router.get(SESSION + "/trace", **returns(Trace))
async def trace_message(api: Api, caller: Asking, session: str) -> Response:
    """The history of the whole transaction that a message belongs to."""
    found = await reading.load_trace(api.network, caller, session)
    copies = sum(len(one.copies) for one in found.messages)
    return await run_for_copies(api, caller, copies, lambda: answer(trace_view(found, shows_counters=caller.operator)))


@payloads.get(SESSION + "/parts/{part:path}", response_class=Response)
async def read_part(api: Api, caller: Asking, session: str, part: str) -> Response:
    """The bytes of one part, as a file. A person's access is recorded."""
    return part_answer(part, await contents.read_part(api.network, caller, session, part))
