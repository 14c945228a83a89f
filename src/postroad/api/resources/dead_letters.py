"""Dead letters: list those of your organization, and resend or drop them, one by one or by filter.

Many are processed a page at a time, so that the client controls the pace and can stop; a cursor leads from page to
page. The cursor contains pseudonyms of numbers, because the real numbers could reveal hidden information.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from postroad.api.pagination import CursorPage, question_key
from postroad.api.resources import dead_letter_shapes as shapes
from postroad.api.resources.context import Api, ApiContext, Asking, answer, empty_answer, page_answer
from postroad.api.resources.paths import LETTER, LETTERS
from postroad.api.resources.route_guards import HistoryRoute
from postroad.core.model.caller import Caller
from postroad.flow.administration import dead_letters as dealing
from postroad.flow.administration import dead_letters as reading
from postroad.flow.administration.dead_letters import MAX_NUMBER, DeadLetterSearch

router = APIRouter(route_class=HistoryRoute, tags=["dead letters"])

Delivery = Annotated[int, Path(ge=1, le=MAX_NUMBER, description="Number of the delivery, as in the list")]
Many = shapes.ResendMany | shapes.DropMany


@router.get(LETTERS, response_model=shapes.LetterPage)
async def list_dead_letters(
    request: Request, api: Api, caller: Asking, query: Annotated[shapes.LetterQuery, Query()]
) -> Response:
    """Messages from and to your services that failed permanently and were neither resent nor dropped; oldest first."""
    asked = question_key(caller.name, request)
    after, upto = _position(api, asked, query.cursor)
    page = await reading.browse(api.network, caller, query.wish(after, upto, query.limit))
    following = _cursor(api, asked, page.next_after, upto)
    return page_answer(request, CursorPage([shapes.letter_view(found.letter) for found in page.found], following))


@router.get(LETTERS + "/groups", response_model=shapes.GroupList)
async def group_dead_letters(api: Api, caller: Asking, query: Annotated[shapes.GroupQuery, Query()]) -> Response:
    """How many there are at each service, by cause; the largest group first."""
    groups, complete = await reading.list_letter_groups(api.network, caller, query.wish(0, MAX_NUMBER, 1))
    return answer({"items": [shapes.group_view(group) for group in groups], "complete": complete})


@router.get(LETTER, response_model=shapes.LetterDetails)
async def read_dead_letter(api: Api, caller: Asking, delivery: Delivery) -> Response:
    """One dead letter: what happened where it failed, and its parts."""
    found = await reading.inspect(api.network, caller, delivery)
    events = [shapes.event_view(event) for event in found.events]
    parts = [shapes.part_view(part) for part in found.parts]
    return answer(shapes.letter_view(found.letter) | {"events": events, "parts": parts})


@router.post(LETTERS + "/resend", response_model=shapes.DealtPage | shapes.Counted)
async def resend_dead_letters(request: Request, api: Api, caller: Asking, wish: shapes.ResendMany) -> Response:
    """Resend a page of dead letters, oldest first, each to where it failed."""
    asked, meant = _meant(request, api, caller, wish)
    if wish.dry_run:
        return await _counted(api, caller, meant)
    page = await dealing.resend_many(api.network, caller, meant, wish.reason, wish.expires_in_s)
    return _dealt(api, asked, page)


@router.post(LETTERS + "/drop", response_model=shapes.DealtPage | shapes.Counted)
async def drop_dead_letters(request: Request, api: Api, caller: Asking, wish: shapes.DropMany) -> Response:
    """Put a page of dead letters aside; they stay failed."""
    asked, meant = _meant(request, api, caller, wish)
    if wish.dry_run:
        return await _counted(api, caller, meant)
    return _dealt(api, asked, await dealing.drop_many(api.network, caller, meant, wish.reason))


@router.post(LETTER + "/resend", response_model=shapes.ResentView)
async def resend_dead_letter(api: Api, caller: Asking, delivery: Delivery, wish: shapes.ResendWish) -> Response:
    """Resend a dead letter to where it failed."""
    dealt = await dealing.resend(api.network, caller, delivery, wish.reason, wish.expires_in_s)
    return answer({"delivery": dealt.delivery})


@router.post(LETTER + "/drop", status_code=204, response_class=Response)
async def drop_dead_letter(api: Api, caller: Asking, delivery: Delivery, wish: shapes.DropWish) -> Response:
    """Put a dead letter aside; it stays failed."""
    await dealing.drop(api.network, caller, delivery, wish.reason)
    return empty_answer()


def _meant(request: Request, api: ApiContext, caller: Caller, wish: Many) -> tuple[str, DeadLetterSearch]:
    """The question without its place, and the letters of this page."""
    filters = wish.model_dump_json(include=set(shapes.Filters.model_fields) | {"all"})
    asked = f"{caller.name}\0{request.url.path}\0{filters}"
    after, upto = _position(api, asked, wish.cursor)
    return asked, wish.wish(after, upto, wish.limit)


async def _counted(api: ApiContext, caller: Caller, wish: DeadLetterSearch) -> Response:
    counted = await reading.count(api.network, caller, wish)
    sample = [shapes.letter_view(letter) for letter in counted.sample]
    return answer({"matches": counted.matches, "complete": counted.complete, "sample": sample})


def _dealt(api: ApiContext, asked: str, page: dealing.LetterOutcomePage) -> Response:
    following = _cursor(api, asked, page.next_after, page.upto)
    items = [shapes.dealt_view(dealt) for dealt in page.dealt]
    return answer({"items": items} | ({"next": following} if following else {}))


def _position(api: ApiContext, asked: str, cursor: str) -> tuple[int, int]:
    """Behind which number the page begins, and with which it ends at the latest."""
    position = api.cursors.read(asked, cursor)
    if not position:
        return 0, MAX_NUMBER
    after, upto = (api.network.tokens.veil.real_number(int(number)) for number in position.split())
    return after, upto or MAX_NUMBER


def _cursor(api: ApiContext, asked: str, after: int | None, upto: int) -> str | None:
    if after is None:
        return None
    veil = api.network.tokens.veil
    return api.cursors.write(asked, f"{veil.number(after)} {veil.number(0 if upto == MAX_NUMBER else upto)}")
