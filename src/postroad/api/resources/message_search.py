"""Message search for programs: the same query and results as the console's search box."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field, StrictStr, StringConstraints

from postroad.api.pagination import CursorPage, PageQuery, question_key
from postroad.api.resources.context import Api, Asking, page_answer, time_or_none
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.audit.history.copy_status import CopyStatus
from postroad.core.audit.history.status_text import status_text
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.snapshot import Directory
from postroad.flow.administration.messages import search as finding

router = APIRouter(route_class=GuardedRoute, tags=["messages"])

SOMETHING = r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"  # a line that is not blank
By = Annotated[list[str], Field(description="As what the text was found: session, token, handle, order …")]


class FindQuery(PageQuery):
    q: Annotated[
        StrictStr,
        StringConstraints(min_length=1, max_length=finding.MAX_ASKED, pattern=SOMETHING),
        Field(
            description="What you know of it, whole: session, token, handle, control number, a partner's reference, "
            "the id of a batch, a business key; or the GCID or address of a service"
        ),
    ]


class WhereaboutsView(StrictShape):
    """Where one copy of a message is, in plain words."""

    recipient: Annotated[str, Field(description="Empty where the message was refused as a whole")]
    state: str
    where: str
    since: str | None
    why: Annotated[str, Field(description="The reason, as its source stated it")]
    next: Annotated[str, Field(description="What happens next, or what to do")]
    next_at: Annotated[str | None, Field(description="When; none: unknown")]
    expires_at: Annotated[str | None, Field(description="When it is too late, as long as it waits")]
    batch: Annotated[str, Field(description="Id of the batch that it waits in")]
    text: Annotated[str, Field(description="All of it, as sentences")]


class FoundMessageView(StrictShape):
    kind: Literal["message"]
    by: By
    session: str
    at: str
    sender: str = Field(alias="from")
    recipients: list[str]
    handle: str
    state: Annotated[str, Field(description="What became of it; empty where its recipients differ")]
    whereabouts: Annotated[
        list[WhereaboutsView], Field(description="Of each recipient's copy, where the message is all that was found")
    ]


class FoundServiceView(StrictShape):
    kind: Literal["service"]
    by: By
    gcid: str
    address: str


class FoundBatchView(StrictShape):
    kind: Literal["batch"]
    by: By
    id: str
    service: Annotated[str, Field(description="Address of the batcher")]
    state: str


FoundView = Annotated[FoundMessageView | FoundServiceView | FoundBatchView, Field(discriminator="kind")]


class FoundPage(StrictShape):
    items: list[FoundView]
    next: str | None = None


@router.get("/v1/find", response_model=FoundPage)
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


def _view(found: finding.SearchResult, directory: Directory) -> dict[str, Any]:
    match found:
        case finding.FoundService(service=service):
            known = {"kind": "service", "gcid": service.gcid, "address": service.address}
        case finding.FoundBatch(batch=batch):
            address = directory.address_of(batch.service)
            known = {"kind": "batch", "id": batch.id, "service": address, "state": batch.state.value}
        case finding.FoundMessage():
            return _message_view(found)
    return known | {"by": list(found.by)}


def _message_view(found: finding.FoundMessage) -> dict[str, Any]:
    return {
        "kind": "message",
        "by": list(found.by),
        "session": found.session,
        "at": write_time(found.at_us),
        "from": found.sender,
        "recipients": list(found.recipients),
        "handle": found.handle,
        "state": found.state,
        "whereabouts": [_whereabouts_view(one) for one in found.whereabouts],
    }


def _whereabouts_view(one: CopyStatus) -> dict[str, Any]:
    return {
        "recipient": one.recipient,
        "state": one.state,
        "where": one.where,
        "since": time_or_none(one.since_us),
        "why": one.why,
        "next": one.next,
        "nextAt": time_or_none(one.next_us),
        "expiresAt": time_or_none(one.expires_us),
        "batch": one.batch,
        "text": status_text(one),
    }
