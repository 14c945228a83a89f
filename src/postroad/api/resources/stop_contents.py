"""Messages as they were delivered at each stop: their parts, and their contents as downloads that no browser executes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from postroad.api.resources.context import Api, Asking, answer
from postroad.api.resources.openapi_resources import returns
from postroad.api.resources.paths import SESSION
from postroad.api.resources.route_guards import HistoryRoute, PayloadRoute
from postroad.core.model.part_facts import PartFacts
from postroad.core.resources.base import build_resource
from postroad.core.resources.messages import PartList, PartView
from postroad.flow.administration.messages import contents as reading
from postroad.flow.administration.messages.contents import PartContent, read_mdn_at_stop

router = APIRouter(route_class=HistoryRoute, tags=["messages"])
payloads = APIRouter(route_class=PayloadRoute, tags=["messages"])

PARTS = SESSION + "/stops/{delivery}/parts"
Delivery = Annotated[int, Path(ge=1, le=reading.MAX_DELIVERY, description="Number of the delivery, as in the trace")]


@router.get(PARTS, **returns(PartList))
async def list_parts_at_stop(api: Api, caller: Asking, session: str, delivery: Delivery) -> Response:
    """The parts of a message as delivered to one stop, without those that its sender withheld there."""
    parts = await reading.list_parts_at_stop(api.network, caller, session, delivery)
    return answer(PartList(items=[part_view(part) for part in parts]))


def part_view(part: PartFacts) -> PartView:
    return build_resource(PartView, part)


@payloads.get(PARTS + "/{part:path}", response_class=Response)
async def read_part_at_stop(api: Api, caller: Asking, session: str, delivery: Delivery, part: str) -> Response:
    """The bytes of one part as delivered to one stop. Access by a person is recorded."""
    return part_answer(part, await reading.read_part_at_stop(api.network, caller, session, delivery, part))


@router.get(SESSION + "/stops/{delivery}/receipt", response_class=Response, include_in_schema=False)  # the old URL
@router.get(SESSION + "/stops/{delivery}/mdn", response_class=Response)
async def read_mdn(api: Api, caller: Asking, session: str, delivery: Delivery) -> Response:
    """The signed MDN by which an AS2 partner has confirmed a message, unchanged: its headers and every byte of its body."""
    mdn = await read_mdn_at_stop(api.network, caller, session, delivery)
    headers = {"Content-Disposition": 'attachment; filename="mdn.eml"', "Content-Security-Policy": "sandbox"}
    return Response(mdn, headers=headers, media_type="message/rfc822")


def part_answer(part_id: str, found: PartContent) -> Response:
    name = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "_" for letter in part_id)
    told = found.content_type if found.content_type.isascii() and found.content_type.isprintable() else ""
    headers = {
        "Content-Disposition": f'attachment; filename="{name[:100] or "part"}"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type": told,
    }
    return Response(found.data, headers=headers, media_type=safe_type(found.content_type, found.data))


def safe_type(content_type: str, data: bytes) -> str:
    """Text that no browser runs, or just bytes."""
    kind = content_type.partition(";")[0].strip().lower()
    if not (kind.startswith("text/") or kind.endswith(("json", "xml"))):
        return "application/octet-stream"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain; charset=utf-8"
