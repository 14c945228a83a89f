"""The context of every resource: the network, the caller, and helpers that write responses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Depends, Request, Response

from postroad.api.pagination import CursorPage, Cursors, PageQuery, link_to_next, question_key
from postroad.bootstrap.own_address import OwnAddress
from postroad.core.admission.rate_limit import RateLimiter
from postroad.core.codecs.lexical import write_time
from postroad.core.codecs.limits import WireLimits
from postroad.core.codecs.native_formats import codec_for
from postroad.core.model.caller import Caller
from postroad.core.model.message import Message
from postroad.core.resources.base import Page
from postroad.flow.access.authenticate import Authenticator
from postroad.flow.administration.base import Administration
from postroad.flow.administration.try_out.rules import Transform
from postroad.flow.network import Network
from postroad.flow.stages.body_reader import LARGE_BYTES, BodyReader, LargeBody
from postroad.ports import NodeRegistry, Validator

COPIES_AT_ONCE = 200  # recipients that are processed on the event loop, in some milliseconds

_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiContext:
    network: Network
    authenticator: Authenticator
    administration: Administration
    cursors: Cursors
    limiter: RateLimiter
    own_address: OwnAddress
    posts_per_s: int = 0  # what an organization may post, where nothing else was agreed; 0 = no limit
    message_bytes: int = 0  # of the largest message
    transform: Transform | None = None  # runs a stylesheet on a document with these parameters
    validator: Validator | None = None
    reader: BodyReader | None = None  # of large bodies
    warehouse_folder: Path = Path()  # of the finished tables
    has_console: bool = False  # whether people have pages to log in to
    require_ready: Callable[[], None] = lambda: None  # raises Unavailable while journal or index do not work
    nodes: NodeRegistry


async def read_message(api: ApiContext, caller: Caller, content_type: str, body: bytes, limits: WireLimits) -> Message:
    """A message in a native format, read in another process where it is large."""
    if len(body) > LARGE_BYTES and api.reader is not None:
        large = LargeBody(kind="post", body=body, content_type=content_type, message_bytes=limits.body_bytes)
        async with api.network.heavy_requests.slot(caller.organization or caller.name, len(body)):
            read = await api.reader.read(large)
        if read.refusal is not None:
            raise read.refusal.build_refusal()
        if read.posting is not None and read.form:
            return read.posting.message
        return await run_in_turn(api, caller, partial(codec_for(content_type, body).decode_post, body, limits))
    return codec_for(content_type, body).decode_post(body, limits)


async def run_in_turn(api: ApiContext, caller: Caller, work: Callable[[], _Done]) -> _Done:
    """Runs ``work`` in a thread, one at a time for each organization."""
    return await api.network.heavy_requests.run(caller.organization or caller.name, work)


async def run_for_copies(api: ApiContext, caller: Caller, copies: int, work: Callable[[], _Done]) -> _Done:
    """Runs ``work``, in a thread if the message has many recipients."""
    return work() if copies <= COPIES_AT_ONCE else await run_in_turn(api, caller, work)


def _context(request: Request) -> ApiContext:
    found: ApiContext = request.app.state.api
    return found


def _caller(request: Request) -> Caller:
    found: Caller = request.state.caller
    return found


Api = Annotated[ApiContext, Depends(_context)]
Asking = Annotated[Caller, Depends(_caller)]


def answer(content: Any, status: int = 200, *, tag: str = "", headers: Mapping[str, str] | None = None) -> Response:
    """A resource as JSON; ``tag`` is its ETag."""
    given = dict(headers or {})
    if tag:
        given |= {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization"}
    return Response(msgspec.json.encode(content), status, given, media_type="application/json")


def empty_answer() -> Response:
    return Response(status_code=204)


def page_answer(request: Request, page: CursorPage) -> Response:
    headers = {"Link": link_to_next(request, page.next)} if page.next else {}
    return answer(Page(items=list(page.items), next=page.next), headers=headers)


def make_page(
    request: Request, api: ApiContext, caller: Caller, query: PageQuery, items: list[Any], key: Any
) -> CursorPage:
    return api.cursors.page(question_key(caller.name, request), query, items, key)


def time_or_none(microseconds: int) -> str | None:
    return write_time(microseconds) if microseconds else None
