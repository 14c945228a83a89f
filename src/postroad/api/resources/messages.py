"""Messages for their parties: lists, the status of each message, its whole history, and its parts.

Posting and polling are served elsewhere, on the HTTP front's fast routes (``api/messages.py``).
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, model_validator

from postroad.api.pagination import CursorPage, PageQuery, question_key
from postroad.api.resources.batch_history_views import ContainedView, GatheredView
from postroad.api.resources.context import Api, Asking, answer, page_answer, run_for_copies
from postroad.api.resources.message_views import refused_view, status_view, summary, trace_view
from postroad.api.resources.parts import part_answer
from postroad.api.resources.paths import SESSION
from postroad.api.resources.route_guards import HistoryRoute, PayloadRoute
from postroad.core.configuration.shapes import Line, StrictShape
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
    def filters_fit_the_box(self) -> Self:
        if self.state and self.box != "received":
            raise ValueError("state applies only to received messages; use it with box=received")
        if self.box == "refused" and (self.type or self.topic):
            raise ValueError("type and topic apply only to accepted messages; omit both with box=refused")
        return self


class MessageSummary(StrictShape):
    session: str
    box: Box
    at: str
    sender: str = Field(alias="from")
    recipients: list[str]
    type: str
    topic: str
    handle: str
    size: Annotated[int, Field(description="Bytes of the documents and attachments")]
    wire_size: Annotated[int, Field(description="Bytes on the wire, as received; 0 for viewers other than the sender")]
    state: str
    code: str


class MessagePage(StrictShape):
    items: list[MessageSummary]
    next: str | None = None


class RecipientStatus(StrictShape):
    recipient: str
    state: str
    in_words: str
    code: str
    route: list[str]


class MessageStatus(StrictShape):
    session: str
    state: Literal["accepted", "refused"]
    at: str
    sender: str = Field(alias="from")
    type: str
    topic: str
    handle: str
    size: Annotated[int, Field(description="Bytes of the documents and attachments")]
    wire_size: Annotated[int, Field(description="Bytes on the wire, as received; 0 for viewers other than the sender")]
    recipients: list[RecipientStatus]
    code: str
    detail: str


class EventView(StrictShape):
    seq: int
    at: str
    what: str
    by: str
    detail: str


class HeldBackView(StrictShape):
    until: Annotated[str | None, Field(description="None: until enough messages wait, or on request")]


class PausedView(StrictShape):
    until: Annotated[str, Field(description="When the next message is pushed to the service, as a probe")]
    failed: int
    of: Annotated[int, Field(description="How many of the last pushes are counted")]


class StopView(StrictShape):
    delivery: Annotated[int, Field(description="Number of the delivery; its contents are read with it")]
    service: str
    gcid: str
    in_transit: bool
    role: Annotated[str, Field(description="Role of the service: `inTransit` or `recipient`")]
    status: Annotated[
        str,
        Field(
            description="By its role. In transit: `waiting`, `invoked`, `returned`. Recipient: `waiting`, `handed out`, "
            "`received`, `answered`. Either: `rejected`, `failed`, `expired`, `cancelled`"
        ),
    ]
    state: str
    size: Annotated[int, Field(description="Bytes of the documents and attachments")]
    invoker: Annotated[str, Field(description="The service that inserted this service into the route")]
    rule: Annotated[str, Field(description="The rule that inserted it; empty if named in the message")]
    events: list[EventView]
    gathered: Annotated[GatheredView | None, Field(description="Set if the service batches messages")]
    held: Annotated[HeldBackView | None, Field(description="Set while it waits for release")]
    paused: Annotated[
        PausedView | None, Field(description="Set while it waits because pushes to the service are paused")
    ] = None


class CopyView(StrictShape):
    recipient: str
    code: str
    detail: str
    state: Annotated[str, Field(description="Final state of this copy; `under way` until then")]
    route: list[str]
    stops: list[StopView]


class ArrivalView(StrictShape):
    """How a message arrived that was not in one of the network's native formats."""

    notes: Annotated[
        list[str], Field(description="Where its declaration differed from its content, and which errors were tolerated")
    ]
    message_id: Annotated[str, Field(description="AS2: its Message-ID")]
    mic: Annotated[str, Field(description="AS2: the digest that the MDN confirms")]
    layers: Annotated[list[str], Field(description="AS2: signed, encrypted, compressed, outermost first")]


class MessageView(StrictShape):
    seq: int
    session: str
    at: str
    type: str
    sender: str = Field(alias="from")
    topic: str
    handle: str
    size: Annotated[int, Field(description="Bytes of the documents and attachments")]
    wire_size: Annotated[int, Field(description="Bytes on the wire, as received; 0 for viewers other than the sender")]
    form: str
    directory: int
    answers: str
    code: Annotated[str, Field(description="Why the whole post was rejected; empty if it was accepted")]
    detail: Annotated[str, Field(description="The reason as text")]
    forwards: Annotated[
        str, Field(description="Session ID of the message that an exchange or a model forwards with this one")
    ]
    copies: list[CopyView]
    came: Annotated[ArrivalView | None, Field(description="Visible to its sender")]
    contained: Annotated[
        ContainedView | None, Field(description="Contents of an interchange, for the organization that created it")
    ]


class Trace(StrictShape):
    transaction: str
    messages: list[MessageView]


@router.get("/v1/messages", response_model=MessagePage)
async def list_messages(
    request: Request, api: Api, caller: Asking, query: Annotated[MessageQuery, Query()]
) -> Response:
    """Messages that your services sent, received, or were refused; newest first."""
    asked = question_key(caller.name, request)
    position = api.cursors.read(asked, query.cursor)
    veil = api.network.tokens.veil  # a cursor can be read, and real numbers would tell hidden parties too much
    wish = reading.MessageSearch(
        box=query.box,
        service=query.service,
        type=query.type,
        topic=query.topic,
        state=query.state,
        before=veil.real_number(int(position)) if position else reading.NEWEST,
        limit=query.limit,
    )
    found = await reading.browse(api.network, caller, wish)
    last = found.next_before
    following = api.cursors.write(asked, str(veil.number(last))) if last is not None else None
    views = [summary(query.box, row, api.network.directory) for row in found.rows]
    return page_answer(request, CursorPage(views, following))


@router.get(SESSION, response_model=MessageStatus)
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


@router.get(SESSION + "/trace", response_model=Trace)
async def trace_message(api: Api, caller: Asking, session: str) -> Response:
    """The history of the whole transaction that a message belongs to."""
    found = await reading.load_trace(api.network, caller, session)
    copies = sum(len(one.copies) for one in found.messages)
    return await run_for_copies(api, caller, copies, lambda: answer(trace_view(found, shows_counters=caller.operator)))


@payloads.get(SESSION + "/parts/{part:path}", response_class=Response)
async def read_part(api: Api, caller: Asking, session: str, part: str) -> Response:
    """The bytes of one part, as a file. A person's access is recorded."""
    return part_answer(part, await contents.read_part(api.network, caller, session, part))
