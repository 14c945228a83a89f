"""Support requests: members ask, optionally about a message, and operators answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Request, Response
from pydantic import Field

from postroad.api.pagination import Paging
from postroad.api.resources.context import Api, Asking, answer, make_page, page_answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.route_guards import GuardedRoute
from postroad.core.codecs.lexical import write_time
from postroad.core.configuration.shapes import StrictShape
from postroad.core.model.support import SupportRequest
from postroad.core.resources.base import build_resource
from postroad.core.resources.organizations import NoteView, RequestPage, RequestView
from postroad.flow.administration import support as asking

LAST_ID = (1 << 80) - 1  # ids are 10 bytes in hexadecimal

router = APIRouter(route_class=GuardedRoute, tags=["support"])

Subject = Annotated[str, Field(min_length=1, max_length=asking.SUBJECT_CHARS)]
Text = Annotated[str, Field(max_length=asking.TEXT_CHARS)]


class NewRequest(StrictShape):
    subject: Subject
    text: Annotated[Text, Field(min_length=1)]
    session: Annotated[str, Field(max_length=64, description="Of the message that it is about")] = ""


class NewNote(StrictShape):
    text: Text = ""
    close: Annotated[bool, Field(description="Close the request with this")] = False


def request_view(request: SupportRequest) -> RequestView:
    return build_resource(
        RequestView,
        request,
        state=request.state.value,
        opened_at=write_time(request.opened_at_us),
        changed_at=write_time(request.changed_at_us),
        notes=[build_resource(NoteView, note, at=write_time(note.at_us)) for note in request.notes],
    )


def _newest_first(request: SupportRequest) -> str:
    """Ids sort by time; pages follow a key that grows."""
    return f"{LAST_ID - int(request.id, 16):020x}"


@router.get("/v1/support", **returns(RequestPage))
async def list_requests(request: Request, api: Api, caller: Asking, query: Paging) -> Response:
    """The support requests of your organization; for operators, those of all organizations."""
    found = sorted(asking.list_requests(caller, api.network.directory), key=_newest_first)
    page = make_page(request, api, caller, query, found, _newest_first)
    return page_answer(request, page._replace(items=[request_view(one) for one in page.items]))


@router.post("/v1/support", **returns(RequestView, 201))
async def open_request(api: Api, caller: Asking, wish: NewRequest) -> Response:
    """Ask the network's operators, about a message that you may see perhaps."""
    opened = await asking.open_request(api.administration, caller, wish.subject, wish.text, wish.session)
    return answer(request_view(opened), 201, headers={"Location": f"/v1/support/{opened.id}"})


@router.get("/v1/support/{request_id}", **returns(RequestView))
async def read_request(api: Api, caller: Asking, request_id: str) -> Response:
    """One request with all that was written."""
    return answer(request_view(asking.find_request(caller, api.network.directory, request_id)))


@router.post("/v1/support/{request_id}/notes", **returns(RequestView, 201))
async def write_note(api: Api, caller: Asking, request_id: str, wish: NewNote) -> Response:
    """Write, and give the other side the word; or close the request."""
    written = await asking.add_note(api.administration, caller, request_id, wish.text, close=wish.close)
    return answer(request_view(written), 201)
